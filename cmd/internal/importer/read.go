package importer

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// The systems whose configuration can be imported.
const (
	Chat2Graph = "chat2graph"
	DeerGo     = "deer-go"
	OpenManus  = "openmanus"
	ValueCell  = "valuecell"
)

// Kinds lists the kinds of sources.
func Kinds() []string { return []string{Chat2Graph, DeerGo, OpenManus, ValueCell} }

// Source is a file to import.
type Source struct {
	// Path is its name, for the report and to recognise its kind.
	Path string
	// Text is the content of the file.
	Text []byte
	// Kind is one of Kinds; if empty, name and shape determine it.
	Kind string
}

// Result is what to write, and what happened to every key.
type Result struct {
	// Files are the contents by path below the target folder.
	Files map[string][]byte
	// Notes are in the order of the sources.
	Notes []Note
	// Warnings say which experts can do less than before, and what replaces what they have lost.
	Warnings host.Faults
}

// Read makes one configuration from sources. It reports all faults together, as host.Faults.
func Read(sources []Source) (*Result, error) {
	t := &target{}
	var faults host.Faults
	var trees []*node
	for _, s := range sources {
		root, err := one(s, t)
		var found host.Faults
		if err != nil && !errors.As(err, &found) {
			return nil, err
		}
		faults = append(faults, found...)
		trees = append(trees, root)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	r := &Result{Warnings: t.warnings}
	for _, root := range trees {
		r.Notes = append(r.Notes, root.notes(map[*node]bool{})...)
	}
	var err error
	r.Files, err = t.files()
	return r, err
}

// one reads one source into the target.
func one(s Source, t *target) (*node, error) {
	var root *node
	var err error
	switch ext := strings.ToLower(filepath.Ext(s.Path)); {
	case ext == ".toml" || s.Kind == OpenManus:
		root, err = parseTOML(s.Path, s.Text)
	case ext == ".json" || s.Kind == ValueCell:
		root, err = parseJSON(s.Path, s.Text)
	default:
		root, err = parseYAML(s.Path, s.Text)
	}
	if err != nil {
		return nil, err
	}
	kind := s.Kind
	if kind == "" {
		kind = recognised(root, strings.ToLower(filepath.Ext(s.Path)))
	}
	switch kind {
	case Chat2Graph:
		return root, chat2Graph(root, t)
	case DeerGo:
		deerGo(root, t)
		return root, nil
	case OpenManus:
		openManus(root, t)
		return root, nil
	case ValueCell:
		return root, valueCell(root, t)
	}
	return nil, host.Faults{{
		Code: events.CodeInvalid, File: s.Path, Message: "this is the configuration of no known program",
		Hint: fmt.Sprintf("say it with --from: %s", strings.Join(Kinds(), ", ")),
	}}
}

// recognised returns the kind of a source by its shape, "" if unknown.
func recognised(root *node, ext string) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if root.get(name) != nil {
				return true
			}
		}
		return false
	}
	switch {
	case ext == ".toml" && has("llm", "browser", "sandbox", "runflow", "search", "mcp"):
		return OpenManus
	case has("url") && has("name", "skills", "capabilities"):
		return ValueCell
	case has("experts", "operators", "toolkit", "leader", "actions"):
		return Chat2Graph
	case root.get("mcp").get("servers") != nil || has("setting") || root.get("model").get("default_model") != nil:
		return DeerGo
	}
	return ""
}
