package importer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/importer"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// read imports one source.
func read(t *testing.T, path, text string) *importer.Result {
	t.Helper()
	return musttest.Get(importer.Read([]importer.Source{{Path: path, Text: []byte(text)}}))(t)
}

// told returns the notes in short form: verdict, line, key and target.
func told(r *importer.Result) []string {
	var list []string
	for _, n := range r.Notes {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %d %s > %s", n.Verdict, n.Line, n.Key, n.To)))
	}
	return list
}

const manus = `[llm]
model = "m-1"
base_url = "https://u:p4ss@api.example.com/v1?k=hush"
api_key = "sk-abcdefghijklmnop"
max_tokens = 8_192
max_input_tokens = 100000
temperature = 0.5
api_type = "azure"
[llm.vision]
model = "v-1"
[browser]
headless = false
[runflow]
use_data_analysis_agent = true
[new]
thing = {a = 1, b = [1]}
`

// proves O4
func TestAConfigTomlBecomesModelsAndAgents(t *testing.T) {
	r := read(t, "config.toml", manus)
	want := []string{
		"carried 2 llm.model > models.*.model", "mapped 3 llm.base_url > models.*.base_url", "mapped 4 llm.api_key > models.*.key",
		"carried 5 llm.max_tokens > models.*.max_tokens", "mapped 6 llm.max_input_tokens > experts/manus.md max_tokens",
		"carried 7 llm.temperature > models.*.temperature", "left 8 llm.api_type >", "carried 10 llm.vision.model > models.vision.model",
		"left 12 browser.headless >", "mapped 14 runflow.use_data_analysis_agent > experts/data-analysis.md", "left 16 new.thing.a >", "left 16 new.thing.b[0] >",
	}
	musttest.Equal(t, want, told(r))
	config := `version: 1
models:
  default:
    model: m-1
    base_url: https://api.example.com/v1
    key: ${OPENAI_API_KEY}
    temperature: 0.5
    max_tokens: 8192
  vision:
    model: v-1
    base_url: https://api.example.com/v1
    key: ${OPENAI_API_KEY}
    temperature: 0.5
    max_tokens: 8192
experts:
  - experts/*.md
`
	musttest.Equal(t, config, string(r.Files["jobgraph.yaml"]))
	if card := string(r.Files["experts/manus.md"]); !strings.Contains(card, "max_tokens: 100000\n") || !strings.Contains(card, "  - terminate\n") {
		t.Error(card)
	}
	silent(t, r, "hush", "p4ss", "sk-abc")
}

// silent checks that no secret appears anywhere.
func silent(t *testing.T, r *importer.Result, secrets ...string) {
	t.Helper()
	all := fmt.Sprint(r.Notes)
	for _, text := range r.Files {
		all += string(text)
	}
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("the secret %s is told:\n%s", secret, all)
		}
	}
}

// proves D17
func TestADeerGoYamlBecomesModelsServersAndLimits(t *testing.T) {
	r := read(t, "deer-go.yaml", `mcp:
  servers:
    search: {command: npx, args: [-y, --api-key, tv1, --token=tv2, "--mode=${x}"], env: {TAVILY_API_KEY: tv3, MODE: fast, TOKEN: "${MY_TOKEN}"}}
    far: {url: "https://u:tv4@mcp.example.org/sse?key=tv5", transport: SSE, headers: {Authorization: Bearer tv6}, retry: 3}
    odd: npx
model: {default_model: d-1, api_key: tv7, base_url: "https://ark.example.com/v3"}
setting: {max_plan_iterations: 2, max_step_num: many}
`)
	want := []string{
		"mapped 3 mcp.servers.search.command > mcpServers.search.command", "mapped 3 mcp.servers.search.args > mcpServers.search.args",
		"mapped 3 mcp.servers.search.env.TAVILY_API_KEY > mcpServers.search.env.TAVILY_API_KEY", "carried 3 mcp.servers.search.env.MODE > mcpServers.search.env.MODE",
		"mapped 3 mcp.servers.search.env.TOKEN > mcpServers.search.env.TOKEN",
		"mapped 4 mcp.servers.far.url > mcpServers.far.url", "carried 4 mcp.servers.far.transport > mcpServers.far.type",
		"mapped 4 mcp.servers.far.headers.Authorization > mcpServers.far.headers.Authorization", "left 4 mcp.servers.far.retry >", "left 5 mcp.servers.odd >",
		"carried 6 model.default_model > models.default.model", "mapped 6 model.api_key > models.default.key", "carried 6 model.base_url > models.default.base_url",
		"mapped 7 setting.max_plan_iterations > job.yaml limits.max_plan_rounds", "left 7 setting.max_step_num >",
	}
	musttest.Equal(t, want, told(r))
	config := string(r.Files["jobgraph.yaml"])
	for _, line := range []string{
		"- ${SEARCH_API_KEY}\n", "- --token=${SEARCH_TOKEN}\n", "- --mode=$${x}\n", "TAVILY_API_KEY: ${TAVILY_API_KEY}\n", "TOKEN: ${MY_TOKEN}\n",
		"url: https://mcp.example.org/sse\n", "type: sse\n", "Authorization: ${FAR_AUTHORIZATION}\n", "key: ${OPENAI_API_KEY}\n",
	} {
		if !strings.Contains(config, line) {
			t.Errorf("%q is not in:\n%s", line, config)
		}
	}
	if job := string(r.Files["job.yaml"]); !strings.Contains(job, "max_plan_rounds: 2\nprofile: research\n") {
		t.Error(job)
	}
	silent(t, r, "tv1", "tv2", "tv3", "tv4", "tv5", "tv6", "tv7")
}

const graph = `app: {name: Graphs}
reasoner: {type: DUAL}
tools:
  - &reader {name: Reader, module_path: app.reader}
  - &pages {name: Pages, type: MCP, mcp_transport_config: {transport_type: STDIO, command: npx}}
actions:
  - &understand {name: understand, desc: Read the document, tools: [*reader, *pages]}
  - &draw {name: Draw it, tools: [*reader]}
toolkit: [[*understand, *draw]]
operators:
  - &analysis
    instruction: Analyse ${it}.
    output_schema: "concepts: a list"
    actions: [*understand]
  - &modelling {instruction: Make a schema.}
experts:
  - profile: {name: Design Expert, desc: Designs schemas}
    workflow: [[*analysis, *modelling]]
leader: {actions: [*understand]}
memory: {}
`

// proves C35
func TestAChat2GraphYmlBecomesExpertsWithTheirStepsInOrder(t *testing.T) {
	r := read(t, "chat2graph.yml", graph)
	want := []string{
		"mapped 1 app.name > jobgraph.yaml", "carried 2 reasoner.type > experts/ reasoning", "left 4 tools[0].name >", "left 4 tools[0].module_path >",
		"carried 5 tools[1].name > mcpServers.Pages", "carried 5 tools[1].type > mcpServers.Pages",
		"carried 5 tools[1].mcp_transport_config.transport_type > mcpServers.Pages.type", "mapped 5 tools[1].mcp_transport_config.command > mcpServers.Pages.command",
		"carried 7 actions[0].name > toolkit.understand", "carried 7 actions[0].desc > toolkit.understand.description", "mapped 7 actions[0].tools > toolkit.understand.tools",
		"carried 8 actions[1].name > toolkit.draw-it", "left 8 actions[1].tools >", "mapped 9 toolkit > toolkit",
		"mapped 12 operators[0].instruction > experts/*.md", "mapped 13 operators[0].output_schema > experts/*.md", "mapped 14 operators[0].actions > experts/*.md",
		"mapped 15 operators[1].instruction > experts/*.md", "carried 17 experts[0].profile.name > experts/design-expert.md name",
		"carried 17 experts[0].profile.desc > experts/design-expert.md description", "mapped 18 experts[0].workflow > experts/design-expert.md", "left 19 leader >", "left 20 memory >",
	}
	musttest.Equal(t, want, told(r))
	card := `---
name: Design Expert
description: Designs schemas
kind: llm
reasoning: dual
workflow:
  - instruction: |-
      Analyse $${it}.

      What the step gives:
      concepts: a list
    actions:
      - understand
  - instruction: Make a schema.
---
You are the Design Expert.
`
	config := `# name: Graphs
version: 1
mcpServers:
  Pages:
    type: stdio
    command: npx
toolkit:
  draw-it: {}
  understand:
    description: Read the document
    tools:
      Pages__*: 1
    next:
      draw-it: 1
experts:
  - experts/*.md
`
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0].Message, `expert "Design Expert" has lost its tools Reader, which`) || r.Warnings[0].Line == 0 {
		t.Errorf("%+v", r.Warnings)
	}
	musttest.Equal(t, config, string(r.Files["jobgraph.yaml"]))
	musttest.Equal(t, card, string(r.Files["experts/design-expert.md"]))
}

// proves C-T11
func TestAnOperatorWithoutInstructionAndAChainOfSomethingElseAreFaultsWithTheirPlaces(t *testing.T) {
	broken := strings.NewReplacer("instruction: Make a schema.", "output_schema: x", "*analysis, *modelling", "*analysis, *understand").Replace(graph)
	_, err := importer.Read([]importer.Source{{Path: "chat2graph.yml", Text: []byte(broken)}})
	want := []string{
		"chat2graph.yml:15: operators[1].instruction: an operator without an instruction (say what it does, or leave it out)",
		"chat2graph.yml:7: actions[0]: a workflow is a chain of operators, this is none (name an operator by its alias, as *operator)",
	}
	var faults host.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Error())
	}
	musttest.Equal(t, want, got)
}

// proves V-T18
func TestAgentCardsKeepWhetherTheyMayBePlannedFor(t *testing.T) {
	one := "{\n\t\"name\": \"Filings\", \"url\": \"http://agents.example.org/a\", \"description\": \"Reads filings.\", \"enabled\": false,\n" +
		"\t\"skills\": [{\"id\": \"sec\", \"name\": \"SEC\", \"examples\": [\"Read X\"], \"tags\": [\"10-K\"]}],\n" +
		"\t\"metadata\": {\"hidden\": true, \"planner_passthrough\": true, \"local_agent_class\": \"a:B\"}, \"capabilities\": {\"streaming\": true}\n}"
	r := musttest.Get(importer.Read([]importer.Source{
		{Path: "a.json", Text: []byte(one)}, {Path: "b.json", Text: []byte(`{"name": "filings", "url": "http://agents.example.org/b", "skills": [7]}`)},
	}))(t)
	card := `---
name: Filings
description: Reads filings. SEC.
kind: a2a
a2a:
  agent: http://agents.example.org/a
skills:
  - sec
tags:
  - 10-K
examples:
  - Read X
hidden: true
disabled: true
passthrough: true
---
An agent that is reached over A2A.
`
	musttest.Equal(t, card, string(r.Files["experts/filings.md"]))
	if second := string(r.Files["experts/filings-2.md"]); !strings.HasPrefix(second, "---\nid: filings-2\nname: filings\nkind: a2a\n") {
		t.Errorf("the second of the name: %s", second)
	}
	left := 0
	for _, n := range r.Notes {
		if n.Verdict == importer.Left {
			left++
		}
	}
	if left != 3 || len(r.Notes) != 15 {
		t.Errorf("%d of %d keys are left behind: %v", left, len(r.Notes), told(r))
	}
}

func TestWhatIsNoConfigurationIsRefusedWithItsPlace(t *testing.T) {
	for path, test := range map[string]struct{ text, want string }{
		"a.toml": {"[llm\nmodel = 1", "a.toml:1: this is not TOML"},
		"b.json": {"{", "b.json: this is not JSON"},
		"c.yaml": {"a: [", "c.yaml: this is not YAML"},
		"d.yaml": {"", "d.yaml:1: there are no keys"},
		"e.yaml": {"a: 1\n---\nb: 1", "e.yaml:2: a second document begins"},
		"f.yaml": {"a: 1", "f.yaml: this is the configuration of no known program"},
		"g.json": {`{"url": "x", "skills": []}`, "g.json:1: an agent card needs name and url"},
		"h.yaml": {"experts: &a [*a]", "h.yaml:1: experts.profile.name"},
	} {
		_, err := importer.Read([]importer.Source{{Path: path, Text: []byte(test.text)}})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", path, err, test.want)
		}
	}
}

func TestJSONIsReadWithItsEscapesAndKeepsItsLines(t *testing.T) {
	text := "{\"name\": \"n\", \"url\": \"u\",\n\"description\": \"" + `a\/b \ud83d\ude00 \\ud83d\\ude00 \\\ud83D\uDE00 \t\u00e9 \ud83d. \ude00` + "\",\n\"colour\": \"red\", \"skills\": []}"
	r := musttest.Get(importer.Read([]importer.Source{{Path: "a.json", Text: []byte(text)}}))(t)
	card := string(r.Files["experts/n.md"])
	if want := `description: "a/b \U0001F600 \\ud83d\\ude00 \\\U0001F600 \té �. �"`; !strings.Contains(card, want) {
		t.Errorf("the card lacks %q:\n%s", want, card)
	}
	if !slices.ContainsFunc(r.Notes, func(n importer.Note) bool { return n.Key == "colour" && n.Line == 3 }) {
		t.Errorf("a key of the third line: %v", told(r))
	}
}

// FuzzRead checks that any text is imported or rejected, and that no key is dropped silently.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{manus, graph, "model: {default_model: x}", `{"name": "a", "url": "b", "skills": [{}]}`, "experts: &a [*a]", "a = [{b = 1}]\n[[c]]\n[c.d]\ne=1"} {
		for i := range 3 {
			f.Add(seed, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, format int) {
		path := []string{"x.yaml", "x.toml", "x.json"}[uint(format)%3]
		for _, kind := range append(importer.Kinds(), "") {
			r, err := importer.Read([]importer.Source{{Path: path, Text: []byte(text), Kind: kind}})
			var faults host.Faults
			if err != nil {
				if !errors.As(err, &faults) {
					t.Fatalf("error %T: %v", err, err)
				}
				continue
			}
			for _, n := range r.Notes {
				if n.Key == "" && n.Verdict == "" || n.Verdict == importer.Left && n.Why == "" {
					t.Errorf("a note says nothing: %+v", n)
				}
			}
		}
	})
}

// Experts get the tools that there are here for those that they had.
func TestImportedAgentsHaveTheToolsOfTheSystem(t *testing.T) {
	r := read(t, "config.toml", manus+"[search]\nengine = \"Google\"\nlang = \"en\"\n")
	for path, tools := range map[string][]string{
		"experts/manus.md":         {"run", "edit", "browser", "search_web", "ask_person", "terminate"},
		"experts/data-analysis.md": {"run", "sql", "plot", "pdf"},
	} {
		for _, tool := range tools {
			if card := string(r.Files[path]); !strings.Contains(card, "  - "+tool+"\n") {
				t.Errorf("%s has no %s:\n%s", path, tool, card)
			}
		}
	}
	notes := strings.Join(told(r), "\n")
	for _, want := range []string{"mapped 18 search.engine > experts/manus.md tools", "left 19 search.lang >"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in:\n%s", want, notes)
		}
	}
	r = read(t, "deer-go.yaml", "model: {default_model: m}\nsetting: {max_step_num: 3}\n")
	for path, tool := range map[string]string{"experts/researcher.md": "search_web", "experts/coder.md": "run"} {
		if card := string(r.Files[path]); !strings.Contains(card, "  - "+tool+"\n") {
			t.Errorf("%s has no %s:\n%s", path, tool, card)
		}
	}
}

// A server may have any name; the names of its tools begin with what models accept of it.
func TestToolsOfAServerAreNamedAsModelsKnowThem(t *testing.T) {
	r := read(t, "chat2graph.yml", strings.ReplaceAll(graph, "name: Pages,", "name: Web pages,"))
	config := string(r.Files["jobgraph.yaml"])
	if !strings.Contains(config, "  Web pages:\n") || !strings.Contains(config, "Web_pages__*: 1\n") {
		t.Error(config)
	}
}
