package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// chat2Graph reads chat2graph.yml. An operator without an instruction, and a workflow of anything but operators, are
// faults.
func chat2Graph(root *node, t *target) error {
	g := &graphReader{target: t, actions: map[string]*node{}, ids: map[*node]string{}}
	g.app(root.get("app"))
	g.plugins(root)
	g.tools(root.get("tools"))
	for _, a := range items(root.get("actions")) {
		g.action(a)
	}
	g.chains(root.get("toolkit"))
	var faults host.Faults
	for _, o := range items(root.get("operators")) {
		faults = append(faults, g.operator(o)...)
	}
	for _, e := range items(root.get("experts")) {
		faults = append(faults, g.expert(e)...)
	}
	root.get("leader").left("planning has prompts and stages of its own: --profile graph plans in the manner of this system")
	return faults.Err()
}

// items returns the items of a list, or nil.
func items(n *node) []*node {
	if n == nil {
		return nil
	}
	return n.items
}

type graphReader struct {
	*target
	actions map[string]*node
	// ids maps actions to their ids in the toolkit.
	ids map[*node]string
	// reasoning is the reasoning mode of all experts.
	reasoning string
}

func (g *graphReader) app(n *node) {
	if !n.table() {
		return
	}
	for _, name := range n.names {
		f := n.fields[name]
		if f.value() == "" {
			f.left("it is empty")
			continue
		}
		g.remarks = append(g.remarks, name+": "+f.value())
		f.mapped("jobgraph.yaml", "a comment: nothing here has a name of its own")
	}
}

// plugins handles the sections about the internals of the other system.
func (g *graphReader) plugins(root *node) {
	root.get("plugin").leave("workflows have one engine here, the JobGraph")
	switch kind := root.get("reasoner").get("type"); strings.ToUpper(kind.value()) {
	case "MONO":
		kind.mapped("experts/ reasoning", "one voice is what a card means that says nothing")
	case "DUAL":
		g.reasoning = "dual"
		kind.carried("experts/ reasoning")
	default:
		kind.left("an agent reasons with one voice, or as thinker and actor: MONO or DUAL")
	}
	root.get("knowledgebase").leave("add the files to a base of knowledge with jobgraph knowledge, and name it in requests")
	root.get("memory").leave("jobs of one session know what was said before; there is no other memory")
	root.get("env").leave("limits belong to the request, models to models: see docs/configuration.md")
}

func (g *graphReader) tools(n *node) {
	for _, t := range items(n) {
		name := t.get("name").value()
		if !strings.EqualFold(t.get("type").value(), "MCP") {
			t.leave("functions of Python cannot be loaded: make it a server under mcpServers, or a program of an expert of kind command")
			continue
		}
		t.get("name").carried("mcpServers." + name)
		t.get("type").carried("mcpServers." + name)
		t.get("desc").leave("servers describe their tools themselves")
		transport := t.get("mcp_transport_config")
		if !transport.table() || name == "" {
			t.left("a server of tools has a name and mcp_transport_config")
			continue
		}
		serverOf(transport, name, g.target)
	}
}

func (g *graphReader) action(n *node) {
	if name := n.get("name").value(); name != "" {
		g.actions[name] = n
	}
	g.known(n)
}

// known returns the id of an action in the toolkit, adding a new one; "" if it is not an action.
func (g *graphReader) known(n *node) string {
	if !n.table() {
		n = g.actions[n.value()]
	}
	name := n.get("name").value()
	if id := g.ids[n]; id != "" || name == "" {
		return id
	}
	id := events.Slug(name)
	for twin := 2; g.config.Toolkit[id] != nil; twin++ {
		id = fmt.Sprintf("%s-%d", events.Slug(name), twin)
	}
	a := &action{Description: literal(strings.Join(strings.Fields(n.get("desc").value()), " "))}
	if g.config.Toolkit == nil {
		g.config.Toolkit = map[string]*action{}
	}
	g.ids[n], g.config.Toolkit[id] = id, a
	n.get("name").carried("toolkit." + id)
	n.get("desc").carried("toolkit." + id + ".description")
	n.get("tools").left("functions of Python cannot be loaded: name tools under toolkit." + id + ".tools, or on a card")
	for _, t := range items(n.get("tools")) {
		if server := t.get("name").value(); g.config.MCPServers[server] != nil {
			a.Tools = also(a.Tools, plain(server)+"__*")
			n.get("tools").mapped("toolkit."+id+".tools", "the tools of its servers, with the best score; functions of Python stay behind")
		}
	}
	return id
}

// plain returns the name of a server as it begins the names of its tools: models accept no others.
func plain(server string) string {
	return regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(server, "_")
}

// also adds an edge with the best score.
func also(edges map[string]float64, end string) map[string]float64 {
	if edges == nil {
		edges = map[string]float64{}
	}
	edges[end] = 1
	return edges
}

// chains reads lists of consecutive actions.
func (g *graphReader) chains(n *node) {
	n.mapped("toolkit", "actions that follow one another are next to one another, with the best score")
	for _, chain := range items(n) {
		before := ""
		for _, a := range items(chain) {
			id := g.known(a)
			if id != "" && before != "" && id != before {
				g.config.Toolkit[before].Next = also(g.config.Toolkit[before].Next, id)
			}
			before = id
		}
	}
}

func (g *graphReader) operator(n *node) host.Faults {
	if n.get("instruction").value() == "" {
		return host.Faults{place(n, "instruction", "an operator without an instruction", "say what it does, or leave it out")}
	}
	n.get("instruction").mapped("experts/*.md", "a step in the workflow of the experts that have the operator")
	n.get("output_schema").mapped("experts/*.md", "a description in the step: results that have to fit a JSON Schema are output_schema of a step")
	n.get("actions").mapped("experts/*.md", "actions of the step, or of the card with one step")
	return nil
}

func (g *graphReader) expert(n *node) host.Faults {
	profile := n.get("profile")
	name := profile.get("name").value()
	if name == "" {
		return host.Faults{place(n, "profile.name", "an expert without a name", "give it one")}
	}
	c := g.target.expert(&card{Name: literal(name), Description: literal(strings.Join(strings.Fields(profile.get("desc").value()), " ")), Kind: "llm", Reasoning: g.reasoning})
	profile.get("name").carried(c.file + " name")
	profile.get("desc").carried(c.file + " description")
	n.get("reasoner").left("all experts reason as reasoner.type says")
	steps, faults := g.steps(n.get("workflow"))
	c.body = "You are the " + name + "."
	for _, s := range steps {
		c.Workflow = append(c.Workflow, step{Instruction: literal(instruction(s)), Actions: g.ways(s)})
	}
	if len(steps) == 1 { // A single step is the whole work.
		c.body, c.Actions, c.Workflow = c.body+"\n\n"+instruction(steps[0]), c.Workflow[0].Actions, nil
	}
	n.get("workflow").mapped(c.file, "workflow; one operator alone is the prompt")
	g.bereaved(n, name, steps)
	return faults
}

// bereaved warns of the tools that an expert has lost: functions of Python that its actions call.
func (g *graphReader) bereaved(n *node, name string, steps []*node) {
	var lost []string
	for _, s := range steps {
		for _, a := range items(s.get("actions")) {
			if !a.table() {
				a = g.actions[a.value()]
			}
			for _, t := range items(a.get("tools")) {
				tool := t.get("name").value()
				if tool == "" {
					tool = t.value()
				}
				if tool != "" && g.config.MCPServers[tool] == nil && !slices.Contains(lost, tool) {
					lost = append(lost, tool)
				}
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	g.target.warn(n.get("profile"), fmt.Sprintf("expert %q has lost its tools %s, which are functions of Python", name, strings.Join(lost, ", ")),
		"serve them by a server under mcpServers, by a program on the bus under tools, or as an expert of kind command, and name them as tools on the card")
}

// steps returns the operators of a workflow in order.
func (g *graphReader) steps(n *node) (steps []*node, faults host.Faults) {
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		switch {
		case n.table() && n.get("instruction") != nil:
			steps = append(steps, n)
		case n.items != nil && depth < 8:
			for _, item := range n.items {
				walk(item, depth+1)
			}
		default:
			faults = append(faults, place(n, "", "a workflow is a chain of operators, this is none", "name an operator by its alias, as *operator"))
		}
	}
	if n != nil {
		walk(n, 0)
	}
	return steps, faults
}

// instruction returns what an operator does, and its result.
func instruction(s *node) string {
	text := s.get("instruction").value()
	if schema := s.get("output_schema").value(); schema != "" {
		text += "\n\nWhat the step gives:\n" + schema
	}
	return text
}

// ways returns the ids of an operator's actions.
func (g *graphReader) ways(s *node) (ids []string) {
	for _, a := range items(s.get("actions")) {
		if id := g.known(a); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// place returns a fault with its position in a source.
func place(n *node, field, message, hint string) host.Fault {
	path := n.path
	if field != "" {
		path = below(n.path, field)
	}
	return host.Fault{Code: events.CodeInvalid, File: n.file, Line: n.line, Field: path, Message: message, Hint: hint}
}

// fault returns place as an error.
func fault(n *node, message, hint string) error { return host.Faults{place(n, "", message, hint)} }
