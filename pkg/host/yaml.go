package host

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// ConfigVersion is the supported version of jobgraph.yaml.
const ConfigVersion = 1

// Keys of jobgraph.yaml that belong to host; structs need not declare them.
const (
	keyVersion  = "version"
	keySettings = "settings"
)

// Validator is implemented by targets of ReadYAML or OpenFrontMatter that can check themselves. A fault whose Field is a
// path of keys ("experts.writer.kind", "steps[2]") gets the position of that key in the file.
type Validator interface {
	// Validate reports everything that is wrong with the decoded values: Faults, events.Faults or any other error.
	Validate() error
}

// Skip as a field's type makes its key known while its value is neither read nor expanded: a section of the shared file
// that belongs to another program.
type Skip struct{}

// UnmarshalYAML ignores the value.
func (*Skip) UnmarshalYAML(*yaml.Node) error { return nil }

// ReadYAML reads jobgraph.yaml into out, a pointer to a struct with yaml tags. It is strict: "version: 1" is required, and
// a key that out does not have is a fault, except "version" and "settings". In values, ${VAR}, ${VAR:-default} and
// ${file:PATH} (relative to the file) are expanded; $${ stands for a literal ${. All faults are returned together as
// Faults, each with line and column; a YAML syntax error is reported alone, with its line. With a fault, out is unchanged.
func ReadYAML(path string, env Env, out any) error {
	_, err := OpenYAML(path, env, out)
	return err
}

// OpenYAML is like ReadYAML, for callers that may find further faults: the returned file locates them, even if it has
// faults itself.
func OpenYAML(path string, env Env, out any) (*File, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, Faults{unreadable(path, err)}
	}
	d := newDocument(path, env, text)
	root, ok := d.parse(text)
	if !ok {
		return &File{d}, d.faults.Err()
	}
	d.reserved = map[string]bool{keyVersion: true, keySettings: true}
	d.checkVersion(root)
	return &File{d}, d.decode(root, out)
}

func unreadable(path string, err error) Fault {
	return Fault{
		Code: CodeUnreadable, File: path, Message: "the file cannot be read", Cause: err.Error(),
		Hint: "check the path and its permissions",
	}
}

// document is one YAML text while it is being decoded.
type document struct {
	path     string
	dir      string
	env      Env
	lines    [][]rune
	reserved map[string]bool       // Root keys that need no field.
	raw      map[*yaml.Node]string // The original text of expanded nodes.
	seen     map[visit]bool
	places   map[string]*yaml.Node // The values by their paths of keys.
	root     *yaml.Node            // nil until the text is parsed.
	torn     bool                  // A section cannot be decoded that others may refer to.
	referred []string              // The references in ${…}, in order.
	faults   Faults
	secrets  secrets
}

func newDocument(path string, env Env, text string) *document {
	d := &document{
		path: path, dir: filepath.Dir(path), env: env,
		raw: map[*yaml.Node]string{}, seen: map[visit]bool{}, places: map[string]*yaml.Node{},
	}
	for line := range strings.SplitSeq(text, "\n") {
		d.lines = append(d.lines, []rune(line))
	}
	return d
}

// parse parses the single document in the text; its root must be a mapping.
func (d *document) parse(text string) (*yaml.Node, bool) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.faults = append(d.faults, Fault{
			Code: events.CodeMalformed, File: d.path, Message: "there is nothing in it", Hint: "begin with the first key",
		})
		return nil, false
	case err != nil:
		d.faults = append(d.faults, d.syntaxFault(err))
		return nil, false
	}
	root := doc.Content[0]
	d.root = root
	if root.Kind != yaml.MappingNode {
		d.fault(root, "", events.CodeInvalid, "is "+nodeKind(root)+", expected keys and values", "begin with the first key")
		return nil, false
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		d.fault(&more, "", events.CodeMalformed, "a second document begins", "keep one document per file")
	case !errors.Is(err, io.EOF):
		d.faults = append(d.faults, d.syntaxFault(err))
	}
	return root, true
}

func (d *document) syntaxFault(err error) Fault {
	fault := Fault{Code: events.CodeMalformed, File: d.path, Message: "this is not YAML", Hint: "check quotes, colons and indentation"}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(text); m != nil {
		fault.Line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	fault.Cause = text
	return fault
}

func (d *document) checkVersion(root *yaml.Node) {
	node := child(root, keyVersion)
	hint := fmt.Sprintf("write version: %d", ConfigVersion)
	if node == nil {
		d.fault(root, keyVersion, events.CodeInvalid, "the version is missing", hint)
		return
	}
	var version int
	if err := node.Decode(&version); err != nil || version != ConfigVersion {
		d.fault(node, keyVersion, events.CodeInvalid, fmt.Sprintf("version %s is unknown to this program", node.Value), hint)
	}
}

// child returns the value of a key of a mapping, or nil.
func child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func (d *document) fault(at *yaml.Node, field string, code events.Code, message, hint string) {
	d.faults = append(d.faults, Fault{
		Code: code, Field: field, Message: message, Hint: hint, File: d.path, Line: at.Line, Column: at.Column,
	})
}
