package importer

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// target is the configuration under construction.
type target struct {
	config  config
	cards   []*card
	job     map[string]any
	remarks []string // Comments at the beginning of jobgraph.yaml.
	// warnings are about experts that can do less than before.
	warnings host.Faults
}

// warn adds a warning about the content of a node.
func (t *target) warn(n *node, message, hint string) {
	f := place(n, "", message, hint)
	f.Code = events.CodeNotFound
	t.warnings = append(t.warnings, f)
}

// config is jobgraph.yaml in the order of its keys.
type config struct {
	Version    int                `yaml:"version"`
	Models     map[string]*model  `yaml:"models,omitempty"`
	MCPServers map[string]*server `yaml:"mcpServers,omitempty"`
	Toolkit    map[string]*action `yaml:"toolkit,omitempty"`
	Experts    []string           `yaml:"experts,omitempty"`
}

type model struct {
	Model       string   `yaml:"model,omitempty"`
	BaseURL     string   `yaml:"base_url,omitempty"`
	Key         string   `yaml:"key,omitempty"`
	Temperature *float64 `yaml:"temperature,omitempty"`
	MaxTokens   int64    `yaml:"max_tokens,omitempty"`
}

type server struct {
	Type    string            `yaml:"type,omitempty"`
	Command string            `yaml:"command,omitempty"`
	Args    []string          `yaml:"args,omitempty"`
	Env     map[string]string `yaml:"env,omitempty"`
	URL     string            `yaml:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty"`
}

// action is an action of the toolkit, with its tools and related actions.
type action struct {
	Description string             `yaml:"description,omitempty"`
	Tools       map[string]float64 `yaml:"tools,omitempty"`
	Next        map[string]float64 `yaml:"next,omitempty"`
}

// step is a step of the workflow that an agent follows.
type step struct {
	Instruction string   `yaml:"instruction"`
	Actions     []string `yaml:"actions,omitempty"`
}

// card is the card of an expert; the body is its prompt.
type card struct {
	ID          string   `yaml:"id,omitempty"`
	Name        string   `yaml:"name"`
	Description string   `yaml:"description,omitempty"`
	Kind        string   `yaml:"kind"`
	Agent       *agent   `yaml:"a2a,omitempty"`
	Model       string   `yaml:"model,omitempty"`
	Reasoning   string   `yaml:"reasoning,omitempty"`
	Tools       []string `yaml:"tools,omitempty"`
	Actions     []string `yaml:"actions,omitempty"`
	Workflow    []step   `yaml:"workflow,omitempty"`
	MaxTokens   int64    `yaml:"max_tokens,omitempty"`
	Skills      []string `yaml:"skills,omitempty"`
	Tags        []string `yaml:"tags,omitempty"`
	Examples    []string `yaml:"examples,omitempty"`
	Hidden      bool     `yaml:"hidden,omitempty"`
	Disabled    bool     `yaml:"disabled,omitempty"`
	Passthrough bool     `yaml:"passthrough,omitempty"`
	body        string
	file        string
}

type agent struct {
	Agent string `yaml:"agent"`
}

// expert adds a card, with a unique id.
func (t *target) expert(c *card) *card {
	id := events.Slug(c.Name)
	for n := 2; slices.ContainsFunc(t.cards, func(other *card) bool { return other.file == "experts/"+id+".md" }); n++ {
		id = fmt.Sprintf("%s-%d", events.Slug(c.Name), n)
		c.ID = id
	}
	c.file = path.Join("experts", id+".md")
	t.cards = append(t.cards, c)
	return c
}

// model adds a model; it returns nil if the name is taken.
func (t *target) model(name string) *model {
	if t.config.Models[name] != nil {
		return nil
	}
	if t.config.Models == nil {
		t.config.Models = map[string]*model{}
	}
	m := &model{}
	t.config.Models[name] = m
	return m
}

// server adds a tool server.
func (t *target) server(name string) *server {
	if t.config.MCPServers == nil {
		t.config.MCPServers = map[string]*server{}
	}
	s := &server{}
	t.config.MCPServers[name] = s
	return s
}

// files returns the contents of all files by path.
func (t *target) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	t.config.Version = 1
	if len(t.cards) > 0 {
		t.config.Experts = []string{"experts/*.md"}
	}
	var b bytes.Buffer
	for _, remark := range t.remarks {
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(remark), " "))
	}
	if err := encode(&b, t.config); err != nil {
		return nil, err
	}
	files["jobgraph.yaml"] = b.Bytes()
	for _, c := range t.cards {
		var text bytes.Buffer
		text.WriteString("---\n")
		if err := encode(&text, c); err != nil {
			return nil, err
		}
		text.WriteString("---\n" + strings.TrimSpace(c.body) + "\n")
		files[c.file] = text.Bytes()
	}
	if t.job != nil {
		var job bytes.Buffer
		if err := encode(&job, t.job); err != nil {
			return nil, err
		}
		files["job.yaml"] = job.Bytes()
	}
	return files, nil
}

func encode(b *bytes.Buffer, value any) error {
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return e.Close()
}

// literal escapes a text for a file in which ${ begins a reference.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// literals returns texts in the form that a file has.
func literals(texts []string) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = literal(t)
	}
	return list
}

// variable makes the name of a variable from words.
func variable(words ...string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.Join(words, "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return strings.ToUpper(name)
}

// whole imports an integer.
func whole(n *node, into *int64, to string) {
	if n == nil {
		return
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.value(), "_", ""), 10, 64)
	if err != nil || v < 0 {
		n.left("it is no whole number from 0 on")
		return
	}
	*into = v
	n.carried(to)
}

// flag imports a boolean; ok is false for anything else.
func flag(n *node) (yes, ok bool) {
	yes, err := strconv.ParseBool(n.value())
	return yes, err == nil
}
