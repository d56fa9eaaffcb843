package app_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// line is a model's answer to a prompt that contains a text.
type line struct {
	told   string
	answer llmtest.Answer
}

// lines is a model that answers with the first line that matches its prompt, for 10 tokens each.
func lines(list ...line) *llmtest.Server {
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		at := slices.IndexFunc(list, func(l line) bool { return strings.Contains(q.All(), l.told) })
		if at < 0 {
			return llmtest.Answer{}, fmt.Errorf("nothing is to be said to %s", q.All())
		}
		a := list[at].answer
		a.Usage = &llmtest.Usage{Prompt: 10}
		return a, nil
	}))
}

func says(told, text string) line { return line{told, llmtest.Answer{Text: text}} }

// reported runs an agent once and returns its report. Its model is called plain; there is another one, deep.
func reported(t *testing.T, keys string, model *llmtest.Server, o events.Work) (got events.SubJobReported) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "jobgraph.yaml")
	text := "version: 1\nmodels:\n"
	for name, at := range map[string]string{"default": "plain", "deep": "deep"} {
		text += "  " + name + ": {model: " + at + ", base_url: 'http://model.invalid/v1'}\n"
	}
	musttest.Write(t, file, text)
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		s := agents(t, card(t, keys))
		s.Model, s.BaseURL = "", ""
		w.Config = file
		start(w, s, app.Deps{Doer: model})
		w.Issue(o)
		got = *w.Report(o)
		w.Idle()
	})
	return got
}

const branches = `workflow:
- {id: start, instruction: Read it., tools: [write_file], required_tools: [write_file]}
- {id: left, instruction: Look left., after: [start], tools: []}
- {id: right, instruction: Look right., after: [start], tools: []}
- {id: join, instruction: Join both., after: [left, right], tools: [read_file]}
tools: [read_file, write_file]
`

// proves C-T5
// proves C31
func TestAWorkflowIsOneConversationAfterAnotherAndTheLastGivesTheResult(t *testing.T) {
	write := llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"a.txt","content":"kept"}`}}}
	read := llmtest.Answer{Calls: []llmtest.Call{{Name: "read_file", Args: `{"path":"a.txt"}`}}}
	model := lines(
		says("wrote 4 bytes", "<deliverable>a fork</deliverable>"), line{"Read it.", write},
		says("Look left.", "a river"), says("Look right.", "a hill"), says("1 kept", "<deliverable>all</deliverable>"), says("kept", "<deliverable>{\"all\":true}</deliverable>"), line{"Join both.", read},
	)
	got := reported(t, branches, model, work("agent", "j1", "a", 1))
	if got.Outcome != events.Success || string(got.Output) != `{"all":true}` || got.Tokens != 60 {
		t.Fatalf("report: %+v %+v", got, got.Error)
	}
	asked := model.Asked()
	var seen [][]string
	for _, q := range asked {
		var parts []string
		for _, part := range []string{"Read it.", "Look left.", "Look right.", "Join both.", "a fork", "a river", "a hill"} {
			if strings.Contains(q.All(), part) {
				parts = append(parts, part)
			}
		}
		for name := range q.Tools {
			parts = append(parts, name)
		}
		seen = append(seen, parts)
	}
	want := [][]string{
		{"Read it.", "write_file"},
		{"Read it.", "write_file"},
		{"Look left.", "a fork"},
		{"Look right.", "a fork"},
		{"Join both.", "a river", "a hill", "read_file"},
		{"Join both.", "a river", "a hill", "read_file"},
	}
	musttest.Equal(t, want, seen)
	if text := asked[2].All(); !strings.Contains(text, "<data kind=\"step\" name=\"start\">\na fork\n</data>") {
		t.Error(text)
	}
}

// proves C-T5
func TestAStepThatFailsEndsTheWorkflowAndIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		answer  llmtest.Answer
		outcome events.Outcome
		fault   string
	}{
		"the model fails": {llmtest.Answer{Status: 401, Error: "wrong key"}, events.ExecutionError, "step left: "},
		"it gives up":     {llmtest.Answer{Calls: []llmtest.Call{{Name: "terminate", Args: `{"status":"bad_input","reason":"fog"}`}}}, events.InputDataError, "step left: the expert cannot work with its input"},
	} {
		t.Run(name, func(t *testing.T) {
			model := lines(says("Read it.", "a fork"), line{"Look left.", test.answer})
			keys := "tools: [terminate]\nworkflow: [{id: start, instruction: Read it.}, {id: left, instruction: Look left.}, {id: end, instruction: End.}]\n"
			got := reported(t, keys, model, work("agent", "j1", "a", 1))
			if got.Outcome != test.outcome || !strings.HasPrefix(got.Error.Message, test.fault) || !strings.HasPrefix(got.Lesson, "In step left: ") {
				t.Errorf("report: %+v %+v", got, got.Error)
			}
		})
	}
}

func TestTheBudgetOfTokensIsForAllStepsTogether(t *testing.T) {
	model := lines(says("One.", "1"), says("Two.", "2"), says("Three.", "3"))
	keys := "max_tokens: 20\nworkflow: [{instruction: One.}, {instruction: Two.}, {instruction: Three.}]\n"
	got := reported(t, keys, model, work("agent", "j1", "a", 1))
	if got.Outcome != events.ExecutionError || got.Error.Code != events.CodeBudget || got.Tokens != 20 || len(model.Asked()) != 2 {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
}

// proves C32
// proves C-T7
func TestAThinkerOnAnotherModelAdvisesTheActorWhoUsesTheTools(t *testing.T) {
	list := llmtest.Answer{Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}}
	model := llmtest.New(llmtest.Say(
		llmtest.Answer{Text: "See what is there."}, list, llmtest.Answer{Text: "Nothing is there: deliver."}, llmtest.Answer{Text: "<deliverable>nothing</deliverable>"},
	))
	got := reported(t, "tools: [list_files]\nreasoning: dual\nthinker_model: deep\n", model, work("agent", "j1", "a", 1))
	if got.Outcome != events.Success || string(got.Output) != `"nothing"` {
		t.Fatalf("report: %+v %+v", got, got.Error)
	}
	var seen []string
	for _, q := range model.Asked() {
		last := q.Turns[len(q.Turns)-1]
		seen = append(seen, fmt.Sprintf("%s, %d tools, told by %s: %s", q.Model, len(q.Tools), last.Role, strings.TrimSpace(last.Text)))
	}
	want := []string{
		"plain, 1 tools, told by user: The thinker says:\nSee what is there.", "plain, 1 tools, told by user: The thinker says:\nNothing is there: deliver.",
	}
	musttest.Equal(t, want, []string{seen[1], seen[3]})
	for i, told := range map[int]string{0: "told by user: The request:", 2: "\n(no files)\n</data>"} {
		if !strings.HasPrefix(seen[i], "deep, 0 tools, ") || !strings.Contains(seen[i], told) {
			t.Errorf("%q", seen[i])
		}
	}
}

// proves C30
// proves C-T6
func TestAnEvaluatorJudgesWhatTheExpertGives(t *testing.T) {
	for name, test := range map[string]struct {
		said    []string
		inputs  bool
		outcome events.Outcome
		lesson  string
	}{
		"accepted":                       {[]string{`{"status":"SUCCESS","evaluation":"fine","lesson":""}`}, false, events.Success, ""},
		"accepted after a repair":        {[]string{"It is fine.", `{"status":"SUCCESS"}`}, false, events.Success, ""},
		"refused":                        {[]string{`{"status":"EXECUTION_ERROR","evaluation":"It is 42.","lesson":"Count again."}`}, false, events.ExecutionError, "It is 42.\nCount again."},
		"the inputs":                     {[]string{`{"status":"INPUT_DATA_ERROR","evaluation":"The list is torn."}`}, true, events.InputDataError, "The list is torn."},
		"the inputs, and there are none": {[]string{`{"status":"INPUT_DATA_ERROR","evaluation":"The list is torn."}`}, false, events.ExecutionError, "The list is torn."},
		"several":                        {[]string{`{"status":"SUCCESS|JOB_TOO_COMPLICATED_ERROR","evaluation":"Two things."}`}, false, events.TooComplicated, "Two things."},
		"no word of it":                  {[]string{"It is fine.", "It is."}, false, events.ExecutionError, "The result could not be evaluated: "},
	} {
		t.Run(name, func(t *testing.T) {
			answers := []llmtest.Answer{{Text: "<deliverable>{\"n\": 41}</deliverable>"}}
			for _, text := range test.said {
				answers = append(answers, llmtest.Answer{Text: text})
			}
			model := llmtest.New(llmtest.Say(answers...))
			o := work("agent", "j1", "a", 1)
			if test.inputs {
				o.Results = map[string]events.Result{"before": {Output: json.RawMessage(`[1]`)}}
			}
			got := reported(t, "evaluator: true\nevaluator_model: deep\nevaluator_prompt: Be strict.\nmax_turns: 1\n", model, o)
			if got.Outcome != test.outcome || !strings.HasPrefix(got.Lesson, test.lesson) || (string(got.Output) == `{"n":41}`) != (test.outcome == events.Success) {
				t.Errorf("report: %+v %+v", got, got.Error)
			}
			judge := model.Asked()[1]
			if judge.Model != "deep" || judge.Form != "json_schema" || len(judge.Tools) > 0 || !strings.Contains(judge.All(), "Be strict.") || strings.Contains(judge.All(), "You are careful.") {
				t.Errorf("the evaluator is asked: %s", judge.Body)
			}
		})
	}
}

// proves C-T6
func TestAnEvaluatorThatFailsIsNoSuccessAndASummaryIsNotEvaluated(t *testing.T) {
	model := lines(line{"You judge", llmtest.Answer{Status: 401, Error: "wrong key"}}, says("", "41"))
	got := reported(t, "evaluator: true\n", model, work("agent", "j1", "a", 1))
	if got.Outcome != events.ExecutionError || got.Error.Code != events.CodeNotPermitted || !strings.HasPrefix(got.Error.Message, "the result could not be evaluated: ") {
		t.Errorf("report: %+v %+v", got, got.Error)
	}

	model = llmtest.New(llmtest.Say(llmtest.Answer{Calls: []llmtest.Call{{Name: "list_files", Args: "{}"}}}, llmtest.Answer{Text: "so far"}))
	got = reported(t, "evaluator: true\nmax_turns: 1\non_budget: summary\ntools: [list_files]\n", model, work("agent", "j1", "a", 1))
	if got.Outcome != events.Success || !strings.Contains(string(got.Output), `"incomplete":true`) || len(model.Asked()) != 2 {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
}

func TestAJobSaysBeforeTheCardWhetherItsResultsAreEvaluated(t *testing.T) {
	for name, test := range map[string]struct {
		keys  string
		asked *bool
		times int
	}{
		"the card does":               {"evaluator: true\n", nil, 2},
		"the job does":                {"", new(true), 2},
		"the job does not":            {"evaluator: true\n", new(false), 1},
		"neither of them says it":     {"", nil, 1},
		"a model and a prompt do not": {"evaluator_model: deep\nevaluator_prompt: Be strict.\n", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			model := lines(says("You judge", `{"status":"SUCCESS"}`), says("", "41"))
			o := work("agent", "j1", "a", 1)
			o.Evaluator = test.asked
			if got := reported(t, test.keys, model, o); got.Outcome != events.Success || len(model.Asked()) != test.times {
				t.Errorf("asked %d times: %+v %+v", len(model.Asked()), got, got.Error)
			}
		})
	}
}

func TestTheSchemaOfTheResultIsForTheLastStep(t *testing.T) {
	model := lines(says("One.", `<deliverable>{"n":1}</deliverable>`), says("Two.", `<deliverable>{"m":2}</deliverable>`))
	schema := func(key string) string { return "output_schema: {type: object, required: [" + key + "]}" }
	keys := schema("m") + "\nworkflow: [{instruction: One., " + schema("n") + "}, {instruction: Two., " + schema("n") + "}]\n"
	if got := reported(t, keys, model, work("agent", "j1", "a", 1)); string(got.Output) != `{"m":2}` {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
}

func TestCardsOfWorkflowsAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ keys, want string }{
		"reasoning":      {"reasoning: trio\n", "use mono or dual"},
		"thinker":        {"thinker_model: deep\n", "there is no thinker"},
		"instruction":    {"workflow: [{id: a}]\n", "a step without an instruction"},
		"a circle":       {"workflow: [{id: a, instruction: A, after: [b]}, {id: b, instruction: B}]\n", "the steps wait for each other: a, b"},
		"tool":           {"workflow: [{instruction: A, tools: [fetch]}]\n", `tool "fetch" is none of the expert's tools`},
		"required":       {"tools: [fetch]\nworkflow: [{instruction: A, tools: [], required_tools: [fetch]}]\n", `required tool "fetch" is none of the step's tools`},
		"required, card": {"tools: [fetch]\nrequired_tools: [fetch]\nworkflow: [{instruction: A}]\n", "name them under required_tools of the step"},
		"schema":         {"workflow: [{instruction: A, output_schema: {type: nothing}}]\n", "output_schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app.CheckCards([]string{card(t, test.keys)}, func(string) (string, bool) { return "", false })
			if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), test.want) {
				t.Errorf("%+v", err)
			}
		})
	}
	good := "reasoning: dual\nthinker_model: deep\nevaluator: true\n" + branches
	if _, err := app.CheckCards([]string{card(t, good)}, func(string) (string, bool) { return "", false }); err != nil {
		t.Error(err)
	}
}

func TestTheModelThatTheRequestWantsForExpertsStandsInForTheCards(t *testing.T) {
	model := lines(says("", "done"))
	for wanted, asked := range map[string]string{"": "plain", "deep": "deep"} {
		o := work("agent", "j1", "a", 1)
		o.Model = wanted
		if got := reported(t, "", model, o); got.Outcome != events.Success {
			t.Fatalf("report: %+v %+v", got, got.Error)
		}
		if all := model.Asked(); all[len(all)-1].Model != asked {
			t.Errorf("asked %s, want %s", all[len(all)-1].Model, asked)
		}
	}
	o := work("agent", "j1", "a", 1)
	o.Model = "none"
	if got := reported(t, "", model, o); got.Outcome != events.ExecutionError || got.Error == nil || !strings.Contains(got.Error.Error(), `"deep", "default"`) {
		t.Errorf("report: %+v %+v", got, got.Error)
	}
}
