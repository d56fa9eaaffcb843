package importer

import (
	"fmt"
	"strings"
)

// Prompts of the experts that replace deer-go's agents, whose own prompts are not part of its configuration.
const (
	researcherPrompt = `You research. Look for what the step asks for with the tools that you have, prefer sources that can be checked, and keep what you are told by a
page apart from what you conclude. End with a list of the sources that you used.`
	coderPrompt = `You compute. Work on the data of the step with the tools that you have, show how every number came about, and check the result by another
way where there is one.`
)

// deerGo reads deer-go.yaml.
func deerGo(root *node, t *target) {
	if m := root.get("model"); m.table() {
		deerModel(m, t)
	}
	if mcp := root.get("mcp"); mcp.table() {
		servers(mcp.get("servers"), t)
	}
	t.expert(&card{
		Name: "Researcher", Description: "Finds information and names its sources", Kind: "llm", Tools: []string{"fetch", "search_web"},
		Skills: []string{"research", "web_search"}, Tags: []string{"default"}, body: researcherPrompt,
	})
	t.expert(&card{
		Name: "Coder", Description: "Computes and analyses data", Kind: "llm", Tools: []string{"edit", "find", "list_files", "read_file", "run", "write_file"},
		Skills: []string{"processing", "code"}, body: coderPrompt,
	})
	limits := map[string]any{}
	setting := root.get("setting")
	for from, to := range map[string]string{"max_plan_iterations": "max_plan_rounds", "max_step_num": "max_steps"} {
		var v int64
		if whole(setting.get(from), &v, ""); v > 0 {
			limits[to] = v
			setting.get(from).mapped("job.yaml limits."+to, "a limit belongs to the request: jobgraph run -f job.yaml GOAL")
		} else if n := setting.get(from); n != nil && n.note.Verdict == Carried {
			n.left("0 is no limit here")
		}
	}
	t.job = map[string]any{"goal": "Say what is to be found out", "profile": "research"}
	if len(limits) > 0 {
		t.job["limits"] = limits
	}
}

func deerModel(n *node, t *target) {
	m := t.model("default")
	if m == nil {
		n.leave("there is another default model already")
		return
	}
	if v := n.get("default_model"); v != nil {
		m.Model = literal(v.value())
		v.carried("models.default.model")
	}
	if v := n.get("base_url"); v.value() != "" {
		clean, same := bare(v.value())
		m.BaseURL = literal(clean)
		v.carried("models.default.base_url")
		if !same {
			v.mapped("models.default.base_url", "user, password and query were cut off: use key and headers")
		}
	} else {
		v.left("it is empty")
	}
	m.Key = key(n.get("api_key"), "OPENAI_API_KEY", "models.default.key")
}

// servers imports tool servers in the form that MCP clients share.
func servers(n *node, t *target) {
	if !n.table() {
		return
	}
	for _, name := range n.names {
		serverOf(n.fields[name], name, t)
	}
}

// hands is the note for every server: by default no expert has its tools.
const hands = "name its tools under tools of the cards that may use them"

func serverOf(n *node, name string, t *target) {
	if !n.table() {
		n.left("a server has a command or a url")
		return
	}
	s, to := t.server(name), fmt.Sprintf("mcpServers.%s.", name)
	if v := n.get("command"); v != nil {
		s.Command = literal(v.value())
		v.mapped(to+"command", hands)
	}
	if v := n.get("args"); v != nil {
		s.Args = arguments(v, name, to+"args")
	}
	if v := n.get("env"); v != nil {
		s.Env = pairs(v, "", to+"env")
	}
	if v := n.get("url"); v != nil {
		clean, same := bare(v.value())
		s.URL = literal(clean)
		v.mapped(to+"url", hands)
		if !same {
			v.mapped(to+"url", "user, password and query were cut off, since they may be secrets: put them back as ${VARIABLE}; "+hands)
		}
	}
	if v := n.get("headers"); v != nil {
		s.Headers = pairs(v, name, to+"headers")
	}
	for _, word := range []string{"type", "transport", "transport_type"} {
		if v := n.get(word); v != nil {
			s.Type = map[string]string{
				"stdio": "stdio", "sse": "sse", "websocket": "websocket", "streamable_http": "http", "streamable-http": "http", "http": "http",
			}[strings.ToLower(v.value())]
			if s.Type == "" {
				v.left("it is none of stdio, sse, websocket and streamable_http")
				continue
			}
			v.carried(to + "type")
		}
	}
}

// arguments imports a list of arguments, with secrets as references.
func arguments(n *node, where, to string) []string {
	var list []string
	hidden, after := "", false
	for _, arg := range n.list() {
		flagName, value, assigned := strings.Cut(arg, "=")
		secret := variable(where, strings.TrimLeft(flagName, "-"))
		switch {
		case assigned && strings.HasPrefix(arg, "-") && (secretive(flagName) || looksSecret(value)):
			arg, hidden = flagName+"=${"+secret+"}", secret
		case after || looksSecret(arg):
			if after = false; hidden == "" || looksSecret(arg) {
				hidden = variable(where, "key")
			}
			arg = "${" + hidden + "}"
		default:
			if after = strings.HasPrefix(arg, "-") && secretive(flagName) && !assigned; after {
				hidden = secret
			}
			arg = literal(arg)
		}
		list = append(list, arg)
	}
	n.carried(to)
	if hidden != "" {
		n.secret(to, hidden)
	}
	return list
}
