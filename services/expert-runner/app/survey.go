package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Use is something that configuration files do besides containing texts: a program that they run, an address that they reach, a
// variable or file that they read, tools that they give to an agent.
type Use struct {
	// Does is run, start, reach, read or give.
	Does string `json:"does"`
	// What is the program with its arguments, the address, the variable, the file, or the agent with its tools.
	What string `json:"what"`
	// Place is the file and the key in it.
	Place string `json:"place"`
	// file is another file that the use depends on; usually none.
	file string
}

// Survey describes what configuration files would do if they were used.
type Survey struct {
	// Cards is the number of experts that the files describe.
	Cards int
	// Uses are everything that needs the trust of a person; none if the files are only texts.
	Uses []Use
	// Variables and Files are the variables and files whose values they insert, sorted.
	Variables, Files []string
	// Digest changes with every file that has uses, and with every file that such a file inserts; empty without uses.
	Digest string
}

// Examine reads a configuration file and card files of a folder as a runner would, and says what they would do. It runs and
// contacts nothing. Places and the digest use file names relative to the folder. Errors: host.Faults.
func Examine(folder, config string, experts []string, env host.Env) (*Survey, error) {
	b := readBook(config, experts, env)
	if len(b.faults) > 0 {
		return nil, b.faults
	}
	e := examination{Survey: &Survey{Cards: len(b.cards)}, folder: folder, hashed: map[string]bool{}}
	e.config(config, b)
	for i := range b.cards {
		e.card(&b.cards[i], config)
	}
	return e.Survey, e.close()
}

// examination collects a Survey.
type examination struct {
	*Survey
	folder string
	hashed map[string]bool // Files that the digest covers.
}

// add adds the uses of a file.
func (e *examination) add(path string, uses ...Use) {
	for _, u := range uses {
		u.Place = strings.TrimSuffix(e.name(path)+": "+u.Place, ": ")
		e.Uses = append(e.Uses, u)
		e.hashed[path] = true
		if u.file != "" {
			e.hashed[u.file] = true
		}
	}
}

// name returns a path relative to the folder.
func (e *examination) name(path string) string {
	if name, err := filepath.Rel(e.folder, path); err == nil {
		return name
	}
	return path
}

// config adds the uses of a configuration file, without its experts.
func (e *examination) config(path string, b *book) {
	for _, name := range b.config.Models.Names() {
		if m := b.config.Models[name]; m.BaseURL != "" {
			e.add(path, Use{Does: "reach", What: m.BaseURL + ", as model " + name, Place: "models." + name + ".base_url"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.config.ToolConfig.MCPServers)) {
		s := b.config.ToolConfig.MCPServers[name]
		u := Use{Does: "reach", What: s.URL, Place: "mcpServers." + name}
		if s.Command != "" {
			u.Does, u.What = "start", line(append([]string{s.Command}, s.Args...))+given(s.Env)
			if s.Cwd != "" {
				u.What += ", in " + s.Cwd
			}
			if s.Workspace {
				box := sandboxSpec{Network: s.Network, Read: s.Read}
				u.What += ", in the sandbox of a run" + box.loosened()
			}
		}
		e.add(path, u)
	}
	e.references(path, b.file)
}

// card adds the uses of an expert. If the expert is in the configuration file, its references are those of that file.
func (e *examination) card(f *cardFile, config string) {
	at := f.path
	for _, u := range slices.Concat(f.kind().uses(f), f.Reconcile.uses()) {
		u.Place = f.at + u.Place
		e.add(at, u)
	}
	if at != config {
		e.references(at, f.file)
	}
}

// references adds what a file inserts.
func (e *examination) references(path string, file *host.File) {
	for _, reference := range file.References() {
		name, is := strings.CutPrefix(reference, "file:")
		if !is {
			e.Variables = append(e.Variables, name)
			e.add(path, Use{Does: "read", What: "the variable " + name})
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		e.Files = append(e.Files, name)
		e.add(path, Use{Does: "read", What: "the file " + name, file: name})
	}
}

// close sorts the survey and computes its digest.
func (e *examination) close() error {
	for _, list := range []*[]string{&e.Variables, &e.Files} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortStableFunc(e.Uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.Does, b.Does), cmp.Compare(a.What, b.What))
	})
	e.Uses = slices.Compact(e.Uses)
	if len(e.Uses) == 0 {
		return nil
	}
	whole := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(e.hashed)) {
		text, err := readWhole(path)
		if err != nil {
			return host.Faults{{Code: host.CodeUnreadable, File: path, Message: "the file cannot be read", Cause: cause(err)}}
		}
		_, _ = fmt.Fprintf(whole, "%q %d\n%s\n", e.name(path), len(text), text) // A hash does not fail.
	}
	e.Digest = "sha256:" + hex.EncodeToString(whole.Sum(nil))
	return nil
}

// surveyLimit is the largest file that a digest covers, in bytes.
const surveyLimit = 4 << 20

func readWhole(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, surveyLimit+1))
	if err == nil && len(text) > surveyLimit {
		err = fmt.Errorf("larger than %d bytes", surveyLimit)
	}
	return text, err
}

// line formats a command as one would type it.
func line(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if words[i] = word; word == "" || strings.ContainsAny(word, " \t\n\"'\\$`|&;<>()*?[]{}#~!") {
			words[i] = strconv.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

// given names the variables that a program gets.
func given(env map[string]string) string {
	if len(env) == 0 {
		return ""
	}
	return ", with " + strings.Join(slices.Sorted(maps.Keys(env)), ", ")
}

func (h *hookSpec) uses() []Use {
	switch {
	case len(h.Command) > 0:
		return []Use{{Does: "run", What: line(h.Command) + given(h.Env), Place: "reconcile.command"}}
	case h.URL != "":
		return []Use{{Does: "reach", What: h.URL, Place: "reconcile.url"}}
	}
	return nil
}

func (k *commandKind) uses(f *cardFile) []Use {
	return []Use{{Does: "run", What: line(f.Command) + given(f.Env) + k.Box.loosened(), Place: "command"}}
}

// loosened says what programs may do beyond the default sandbox.
func (b *sandboxSpec) loosened() string {
	text := ""
	if b.Level != "" && b.Level != sandbox.Auto {
		text += ", sandbox " + string(b.Level)
	}
	if b.Network {
		text += ", with network"
	}
	if b.Unix {
		text += ", with unix sockets"
	}
	for _, list := range []struct {
		verb  string
		paths []string
	}{{"reading", b.Read}, {"writing", b.Write}} {
		if len(list.paths) > 0 {
			text += ", " + list.verb + " " + line(list.paths)
		}
	}
	return text
}

// contained are the tools that stay within a job: its workspace, its knowledge and its people.
var contained = []string{
	tool.Edit, tool.Find, tool.ListFiles, tool.ListKnowledge, tool.ReadFile, tool.ReadKnowledge, tool.Remember, tool.SearchKnowledge, tool.WriteFile,
	agent.AskPerson, agent.Planning,
}

func (a *llmKind) uses(f *cardFile) []Use {
	tools := append(slices.Clone(a.Tools), a.Retriever)
	for i := range a.Workflow {
		tools = append(tools, a.Workflow[i].Tools...)
	}
	tools = slices.DeleteFunc(tools, func(name string) bool { return name == "" || slices.Contains(contained, name) })
	for _, action := range a.actions() {
		tools = append(tools, "those of action "+action)
	}
	slices.Sort(tools)
	var uses []Use
	if tools = slices.Compact(tools); len(tools) > 0 {
		uses = append(uses, Use{Does: "give", What: f.card.Name + " the tools " + strings.Join(tools, ", ") + a.Run.loosened(), Place: "tools"})
	}
	if len(a.AllowAddresses) > 0 {
		uses = append(uses, Use{Does: "reach", What: strings.Join(a.AllowAddresses, ", "), Place: "allow_addresses"})
	}
	return uses
}

func (k *httpKind) uses(*cardFile) []Use {
	return []Use{{Does: "reach", What: k.Call.URL, Place: "url"}}
}

func (k *a2aKind) uses(f *cardFile) []Use {
	var uses []Use
	for _, address := range []struct{ key, url string }{{"a2a.agent", k.Agent}, {"a2a.push_url", k.PushURL}} {
		if address.url != "" {
			uses = append(uses, Use{Does: "reach", What: address.url, Place: address.key})
		}
	}
	if len(k.AllowAddresses) > 0 {
		uses = append(uses, Use{Does: "reach", What: strings.Join(k.AllowAddresses, ", "), Place: "a2a.allow_addresses"})
	}
	card := k.Card
	if name, is := card.(string); is {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(f.path), name)
		}
		uses = append(uses, Use{Does: "reach", What: "the agent of " + name, Place: "a2a.card", file: name})
		text, _ := readWhole(name) // An unreadable card is a fault when the expert is built, and has no digest.
		card = nil
		_ = json.Unmarshal(text, &card) // A faulty card is reported then as well.
	}
	for _, url := range addresses(card) {
		uses = append(uses, Use{Does: "reach", What: url, Place: "a2a.card"})
	}
	return uses
}

// addresses returns all texts in a value that look like addresses.
func addresses(value any) (list []string) {
	switch v := value.(type) {
	case string:
		if strings.Contains(v, "://") {
			list = append(list, v)
		}
	case []any:
		for _, item := range v {
			list = append(list, addresses(item)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, addresses(v[key])...)
		}
	}
	return list
}

func (k *humanKind) uses(*cardFile) []Use { return nil }

func (k *natsKind) uses(*cardFile) []Use { return nil }
