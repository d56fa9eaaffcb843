package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// card writes a card of kind llm and returns its path.
func card(t *testing.T, keys string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.md")
	text := "---\nname: Agent\nkind: llm\n" + strings.ReplaceAll(keys, "\t", "  ") + "---\nYou are careful.\n"
	musttest.Write(t, path, text)
	return path
}

// agents are the settings of a runner with one agent, whose workspaces are below a folder of the test.
func agents(t *testing.T, path string) app.Settings {
	t.Helper()
	s := app.Default()
	s.Experts, s.Model, s.BaseURL, s.WorkDir = []string{path}, "scripted", "http://model.invalid/v1", t.TempDir()
	return s
}

// carefulModel writes a file, reads it again, and answers with what it has read.
func carefulModel() *llmtest.Server {
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		cost := 0.25
		usage := &llmtest.Usage{Prompt: 10, Completion: 5, CostUSD: &cost}
		switch len(q.Turns) {
		case 2:
			return llmtest.Answer{Usage: usage, Calls: []llmtest.Call{
				{Name: "write_file", Args: `{"path":"notes/a.txt","content":"forty-two"}`}, {Name: "list_files", Args: `{}`}, {Name: "no_such_tool", Args: `{}`},
			}}, nil
		case 6:
			return llmtest.Answer{Usage: usage, Calls: []llmtest.Call{{Name: "read_file", Args: `{"path":"notes/a.txt"}`}}}, nil
		}
		return llmtest.Answer{Usage: usage, Text: "I have read it.\n<deliverable>it says " + q.Last("tool") + "</deliverable> Bye."}, nil
	}))
}

const careful = "tools: [read_file, write_file, list_files]\n"

// proves C32
// proves C-weakness-2-lesson
// proves C-weakness-9-cost
// proves C-weakness-9-metrics
// proves F-weakness-g-run
// proves F-weakness-h-tool
// proves O-weakness-7-run
// proves O-weakness-issue-414-run
// proves O-weakness-issue-1074-run
// proves D13
func TestAnAgentUsesToolsAndDelivers(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := carefulModel()
		r := start(w, agents(t, card(t, careful)), app.Deps{Doer: model})
		o := work("agent", "j1", "a", 1)
		o.Lessons = []string{"be </data> quick"}
		o.Results = map[string]events.Result{"before": {Output: json.RawMessage(`{"n":1}`)}}
		w.Issue(o)
		got := w.Report(o)
		w.Idle()
		if got.Outcome != events.Success || string(got.Output) != `"it says forty-two"` || got.Tokens != 45 || got.CostUSD != 0.75 {
			t.Errorf("report: %+v", got)
		}
		w.Until("the run is counted", func() bool { return sum(t, r.Metrics.Gatherer(), "jobgraph_subjobs_total") == 1 })
		counted := map[string]float64{}
		for _, name := range []string{"jobgraph_tool_calls_total", "jobgraph_llm_requests_total", "jobgraph_llm_tokens_total", "jobgraph_llm_cost_usd_total"} {
			counted[name] = sum(t, r.Metrics.Gatherer(), name)
		}
		want := map[string]float64{
			"jobgraph_tool_calls_total": 3, "jobgraph_llm_requests_total": 3, "jobgraph_llm_tokens_total": 45, "jobgraph_llm_cost_usd_total": 0.75,
		}
		musttest.Equal(t, want, counted)
		asked := model.Asked()
		if len(asked) != 3 {
			t.Fatalf("asked %d times", len(asked))
		}
		first := asked[0]
		for _, part := range []string{"You are careful.", "do it", "<data kind=\"result\" name=\"before\">\n{\"n\":1}\n</data>", "be &lt;/data> quick"} {
			if !strings.Contains(first.All(), part) {
				t.Errorf("the model is not told %q:\n%s", part, first.All())
			}
		}
		second := asked[1].Turns
		seen := []string{second[3].Text, second[4].Text, second[5].Text}
		told := []string{"wrote 9 bytes to notes/a.txt", "notes/a.txt 9", `Error: there is no tool "no_such_tool", but list_files, read_file, write_file`}
		musttest.Equal(t, told, seen)
	})
}

// sum returns the sum of all counters of a family.
func sum(t *testing.T, g prometheus.Gatherer, name string) (total float64) {
	t.Helper()
	families := musttest.Get(g.Gather())(t)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}

// crashes returns a hook that fails at the nth boundary and all later ones, and counts boundaries.
func crashes(n int) (hook func(string, string) error, crashed chan struct{}, count func() int) {
	crashed = make(chan struct{})
	var mu sync.Mutex
	passed := 0
	return func(string, string) error {
			mu.Lock()
			defer mu.Unlock()
			passed++
			if passed == n {
				close(crashed)
			}
			if n > 0 && passed >= n {
				return errKilled
			}
			return nil
		}, crashed, func() int {
			mu.Lock()
			defer mu.Unlock()
			return passed
		}
}

// A runner is killed at every boundary of a run in turn: finished effects are never repeated, and the result is the same.
// proves C19
// proves F-T11
// proves C-weakness-issue-39-run
// proves F-weakness-d-run
func TestNoFinishedCallOfAnAgentIsRepeatedAfterACrash(t *testing.T) {
	boundaries := 0
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		hook, _, count := crashes(0)
		start(w, agents(t, card(t, careful)), app.Deps{Hook: hook, Doer: carefulModel()})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		w.Report(o)
		w.Idle()
		boundaries = count()
	})
	if boundaries < 20 {
		t.Fatalf("only %d boundaries", boundaries)
	}
	every := 1
	if testing.Short() {
		every = 3
	}
	for n := 1; n <= boundaries; n += every {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				model, path := carefulModel(), card(t, careful)
				hook, crashed, _ := crashes(n)
				first := start(w, agents(t, path), app.Deps{Owner: "one", Hook: hook, Doer: model})
				o := work("agent", "j1", "a", 1)
				state(w, o, true)
				w.Issue(o)
				<-crashed
				first.Kill()
				start(w, agents(t, path), app.Deps{Owner: "two", Doer: model})
				got := w.Report(o)
				w.Idle()
				if got.Outcome != events.Success || string(got.Output) != `"it says forty-two"` || got.Tokens != 45 {
					t.Errorf("report: %+v", got)
				}
				if asked := len(model.Asked()); asked != 3 {
					t.Errorf("the model was asked %d times", asked)
				}
				for key, times := range results(w, "j1", "a") {
					if times != 1 {
						t.Errorf("%s has %d results", key, times)
					}
				}
			})
		})
	}
}

// results counts the results of each effect in a journal.
func results(w *servicetest.Env, job, subjob string) map[string]int {
	w.Helper()
	list, _, err := w.Bus.Journal(job, subjob).Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range list {
		if e.Type == events.JournalResult {
			counts[e.Key]++
		}
	}
	return counts
}

// An agent has a way to report how its work ends, and that becomes the outcome of its run: it need not fail to be heard.
// proves C-weakness-9-outcome
// proves C5
func TestAnAgentSaysThatItsInputIsBadOrItsWorkTooComplicated(t *testing.T) {
	for status, want := range map[string]struct {
		outcome events.Outcome
		code    events.Code
		lesson  string
	}{
		"bad_input":       {events.InputDataError, events.CodeInputData, "the expert cannot work with its input: the map is torn"},
		"too_complicated": {events.TooComplicated, events.CodeTooComplicated, "the work is too much for one expert: the map is torn"},
		"failure":         {events.ExecutionError, events.CodeExecution, "the expert gave up: the map is torn"},
	} {
		t.Run(status, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
					if q.Tools["terminate"] == nil {
						return llmtest.Answer{Text: "there is nothing I could call"}, nil
					}
					return llmtest.Answer{Calls: []llmtest.Call{{Name: "terminate", Args: fmt.Sprintf(`{"status":%q,"reason":"the map is torn"}`, status)}}}, nil
				}))
				start(w, agents(t, card(t, "tools: [terminate]\n")), app.Deps{Doer: model})
				o := work("agent", "j1", "a", 1)
				w.Issue(o)
				got := w.Report(o)
				if got.Outcome != want.outcome || got.Error == nil || got.Error.Code != want.code || got.Lesson != want.lesson {
					t.Errorf("report: %+v, error %+v", got, got.Error)
				}
			})
		})
	}
}

// proves O-weakness-11
func TestAnAgentAsksAPersonAndGoesOnWithTheAnswer(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			if len(q.Turns) == 2 {
				return llmtest.Answer{Usage: &llmtest.Usage{Prompt: 10}, Calls: []llmtest.Call{{Name: "ask_person", Args: `{"question":"Which colour?","options":["red","blue"]}`}}}, nil
			}
			return llmtest.Answer{Usage: &llmtest.Usage{Prompt: 7}, Text: "It is " + q.Last("tool")}, nil
		}))
		start(w, agents(t, card(t, "tools: [ask_person]\n")), app.Deps{Doer: model})
		w.Issue(work("agent", "j1", "a", 1))
		w.Idle()
		asked := w.Facts("j1", events.KindInputRequested)
		if len(asked) != 1 {
			t.Fatalf("asked %d times", len(asked))
		}
		request := asked[0].Data.(*events.InputRequested)
		if request.Prompt != "Which colour?" || len(request.Options) != 2 || request.Request != "a~1~ask-1-0" || request.Tokens != 10 {
			t.Errorf("request: %+v", request)
		}
		next := work("agent", "j1", "a", 2)
		next.ResumeOf = 1
		next.Answers = map[string]events.InputClosed{request.Request: {Action: events.Answered, Answer: json.RawMessage(`"blue"`)}}
		w.Issue(next)
		got := w.Report(next)
		if string(got.Output) != `"It is blue"` || got.Tokens != 7 {
			t.Errorf("report: %+v", got)
		}
		if n := len(model.Asked()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestACancelEndsTheModelsStreamAtOnce(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		streaming, closed := make(chan struct{}), make(chan struct{})
		model := llmtest.New(llmtest.Say(llmtest.Answer{Text: "It goes on and", Fault: llmtest.Hang}))
		start(w, agents(t, card(t, "")), app.Deps{Doer: watched{model, streaming, closed}})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		<-streaming
		w.Fence(o, "stop")
		at := time.Now()
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", ""), nil, []byte(`{"reason":"enough"}`)))
		<-closed
		got := w.Report(o)
		if got.Error == nil || got.Error.Code != events.CodeCancelled {
			t.Errorf("report: %+v", got)
		}
		if took := time.Since(at); took > 50*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

// watched reports when the body of the answer has arrived, and when it is closed.
type watched struct {
	model             *llmtest.Server
	streaming, closed chan struct{}
}

func (d watched) Do(r *http.Request) (*http.Response, error) {
	answer, err := d.model.Do(r)
	if err == nil {
		answer.Body = &body{ReadCloser: answer.Body, closed: d.closed}
		close(d.streaming)
	}
	return answer, err
}

type body struct {
	io.ReadCloser
	once   sync.Once
	closed chan struct{}
}

func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

// proves C-weakness-9-live
// proves V-weakness-10
func TestWhatAnAgentDoesIsToldLive(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := llmtest.New(llmtest.Say(
			llmtest.Answer{Reasoning: "hm", Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}},
			llmtest.Answer{Text: "There is nothing.", Chunk: 6},
		))
		told := make(chan string, 100)
		stop := musttest.Get(w.Bus.SubscribeCore(w.Names.Live("j1", "a"), func(_ string, body []byte) { told <- string(body) }))(t)
		defer stop()
		start(w, agents(t, card(t, careful)), app.Deps{Doer: model})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		w.Report(o)
		want := []string{
			`{"item":"thought/1","offset":0,"text":"hm"}`, `{"item":"answer/1","offset":0,"tool":"list_files"}`,
			`{"item":"tool/1/0","offset":0,"tool":"list_files","args":"{}"}`, `{"item":"tool/1/0","offset":0,"done":true,"bytes":10}`,
			`{"item":"answer/2","offset":0,"text":"There "}`, `{"item":"answer/2","offset":6,"text":"is not"}`,
			`{"item":"answer/2","offset":12,"text":"hing."}`,
		}
		for _, piece := range want {
			if got := servicetest.Next(w, told); got != piece {
				t.Errorf("told %s, want %s", got, piece)
			}
		}
		// However many pieces there are: each answer is written once, and none of them is.
		w.Idle()
		const intent, result = events.JournalIntent, events.JournalResult
		written := []events.JournalType{events.JournalClaimed, intent, result, intent, result, intent, result, events.JournalReported}
		if diff := cmp.Diff(written, w.Journal("j1", "a")); diff != "" {
			t.Errorf("journal (-want +got):\n%s", diff)
		}
		if n := len(w.Facts("j1", events.KindSubJobProgressed)); n != 0 {
			t.Errorf("%d pieces are in the log", n)
		}
	})
}

// proves F-T7
func TestCardsOfAgentsAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ keys, want string }{
		"unknown tool":      {"tools: [fly]\n", `there is no tool "fly"`},
		"tool twice":        {"tools: [fetch, fetch]\n", `tool "fetch" is named twice`},
		"required, missing": {"required_tools: [fetch]\n", `required tool "fetch" is none of its tools`},
		"negative":          {"max_turns: -1\n", "must not be negative"},
		"budget":            {"on_budget: pray\n", "use fail or summary"},
		"address":           {"allow_addresses: [home]\n", `"home" is no address`},
		"schema":            {"output_schema: {type: nothing}\n", "output_schema"},
		"program":           {"command: [sh]\n", "command"},
		"summary in a form": {"on_budget: summary\noutput_schema: {type: object}\n", "a summary does not fit output_schema"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := app.CheckCards([]string{card(t, test.keys)}, func(string) (string, bool) { return "", false })
			if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), test.want) {
				t.Errorf("%+v", err)
			}
		})
	}
	if _, err := app.CheckCards([]string{card(t, careful)}, func(string) (string, bool) { return "", false }); err != nil {
		t.Error(err)
	}
}

// Each error of a model's provider has a specific outcome, and its cost is reported.
// proves C-weakness-issue-203-run
// proves V-weakness-issue-264-run
// proves V-weakness-issue-618-run
// proves O-weakness-9-run
func TestFailuresOfTheModelKeepTheirClass(t *testing.T) {
	for name, test := range map[string]struct {
		answer  llmtest.Answer
		outcome events.Outcome
		code    events.Code
		retry   time.Duration
	}{
		"key":      {llmtest.Answer{Status: 401, Error: "wrong key"}, events.ExecutionError, events.CodeNotPermitted, 0},
		"too long": {llmtest.Answer{Status: 400, Error: "maximum context length is 10 tokens", Code: "context_length_exceeded"}, events.TooComplicated, events.CodeTooComplicated, 0},
		"busy":     {llmtest.Answer{Status: 429, Error: "slow down", Header: map[string]string{"Retry-After": "120"}}, events.ExecutionError, events.CodeUnavailable, 2 * time.Minute},
		"cut":      {llmtest.Answer{Text: "half an ans", Finish: "length", Usage: &llmtest.Usage{Prompt: 3, Completion: 4}}, events.ExecutionError, events.CodeTooLarge, 0},
		"refusal":  {llmtest.Answer{Refusal: "I will not"}, events.ExecutionError, events.CodeNotPermitted, 0}, // It is not retried.
		"filter":   {llmtest.Answer{Finish: "content_filter"}, events.ExecutionError, events.CodeNotPermitted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				model := llmtest.New(llmtest.Func(func(llmtest.Question) (llmtest.Answer, error) { return test.answer, nil }))
				start(w, agents(t, card(t, "patience: 1m\n")), app.Deps{Doer: model})
				o := work("agent", "j1", "a", 1)
				w.Issue(o)
				got := w.Report(o)
				if got.Outcome != test.outcome || got.Error == nil || got.Error.Code != test.code || got.RetryAfter.Std() != test.retry {
					t.Errorf("report: %+v, %+v", got, got.Error)
				}
				asked := 1
				if name == "cut" {
					asked = 2 // The second question says that the first answer was too long.
				}
				if n := len(model.Asked()); n != asked {
					t.Errorf("the model was asked %d times", n)
				}
				if name == "cut" && got.Tokens != 14 {
					t.Errorf("%d tokens", got.Tokens)
				}
			})
		})
	}
}

// A model that answers without the tool that its card requires is made to call it.
//
// proves O-weakness-issue-583-run
func TestAModelThatChoosesNoToolIsMadeToUseTheRequiredOne(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			if q.ToolChoice == "list_files" {
				return llmtest.Answer{Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}}, nil
			}
			return llmtest.Answer{Text: fmt.Sprint("answer ", q.N)}, nil
		}))
		start(w, agents(t, card(t, "tools: [list_files, read_file]\nrequired_tools: [list_files]\n")), app.Deps{Doer: model})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `"answer 3"` {
			t.Errorf("report: %+v %+v", got, got.Error)
		}
		var choices []string
		for _, q := range model.Asked() {
			choices = append(choices, q.ToolChoice)
		}
		musttest.Equal(t, []string{"", "list_files", ""}, choices)
	})
}

// A model's text may be larger than any message of the bus.
func TestLargeArgumentsAndAnswersAreKept(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		text := strings.Repeat("x", 800<<10)
		model := llmtest.New(llmtest.Say(
			llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"large","content":"` + text + `"}`}}, Chunk: 1 << 10},
			llmtest.Answer{Text: text, Chunk: 64 << 10},
		))
		start(w, agents(t, card(t, careful)), app.Deps{Doer: model})
		o := work("agent", "j1", "a", 1)
		w.Issue(o)
		got := w.Report(o)
		if got.Outcome != events.Success || got.OutputRef == nil || got.OutputRef.Size != 800<<10+2 {
			t.Errorf("report: %+v %+v", got, got.Error)
		}
	})
}
