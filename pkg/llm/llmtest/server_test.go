package llmtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, base string, doer llm.Doer, change func(*llm.ModelConfig)) *llm.Engine {
	t.Helper()
	none := 0
	m := llm.ModelConfig{Model: "fake", BaseURL: base, Key: "k", Retries: &none}
	if change != nil {
		change(&m)
	}
	e := musttest.Get(llm.New(llm.Config{llm.DefaultModel: m}, llm.Settings{Doer: doer}))(t)
	t.Cleanup(e.Close)
	return e
}

func ask(text string) llm.Request { return llm.Request{Messages: []llm.Message{llm.User(text)}} }

// Over TCP and in process the same script gives the same answers and the same failures.
func TestTheServerIsTheSameOverTCPAndInProcess(t *testing.T) {
	answers := []llmtest.Answer{
		{Text: "hello", Reasoning: "hm"},
		{Calls: []llmtest.Call{{Name: "look", Args: `{"q":1}`}}},
		{Status: 429, Error: "slow", Header: map[string]string{"Retry-After": "5000"}},
		{Text: "cut off", Fault: llmtest.CutStream, Cut: 2},
		{Text: "half", Fault: llmtest.BadJSON},
		{Fault: llmtest.ErrorIn200, Error: "it broke"},
		{Text: "x", Finish: "length"},
	}
	for _, api := range []string{"chat", "responses", "anthropic", "gemini"} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s stream=%v", api, stream), func(t *testing.T) {
				server := httptest.NewServer(llmtest.New(llmtest.Say(answers...)))
				defer server.Close()
				change := func(m *llm.ModelConfig) { m.API = api }
				remote := client(t, server.URL+"/v1", nil, change)
				local := client(t, "http://fake.test/v1", llmtest.New(llmtest.Say(answers...)), change)
				for i := range answers {
					r := ask("hi")
					r.Stream = stream
					want, wantErr := local.Do(t.Context(), r, nil)
					got, err := remote.Do(t.Context(), r, nil)
					want.Took, got.Took, want.Carry, got.Carry = 0, 0, nil, nil // Carried items contain the host name.
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("answer %d: %s", i, diff)
					}
					if (err == nil) != (wantErr == nil) || err != nil && llm.ClassOf(err) != llm.ClassOf(wantErr) {
						t.Errorf("answer %d: %v, want %v", i, err, wantErr)
					}
				}
				remote.Close()
			})
		}
	}
}

func TestTheServerListsItsModelsAndKnowsNoOtherEndpoint(t *testing.T) {
	server := llmtest.New(llmtest.Planner{})
	server.Names = []string{"a", "b"}
	for path, want := range map[string]string{
		"GET /v1/models":                        `200 {"data":[{"created":0,"id":"a","object":"model","owned_by":"jobgraph"},{"created":0,"id":"b","object":"model","owned_by":"jobgraph"}],"object":"list"}`,
		"POST /v1/messages":                     `400 {"error":{"message":"the request is not the expected JSON: unexpected end of JSON input","type":"invalid_request_error"},"request_id":"req_scripted","type":"error"}`,
		"POST /v1beta/models/m:generateContent": `400 {"error":{"code":400,"message":"the request is not the expected JSON: unexpected end of JSON input","status":"INVALID_ARGUMENT"}}`,
		"POST /v1beta/models/m:countTokens":     `404 {"error":{"code":null,"message":"no such endpoint: POST /v1beta/models/m:countTokens","param":null,"type":"error"}}`,
		"POST /v1/embeddings":                   `404 {"error":{"code":null,"message":"no such endpoint: POST /v1/embeddings","param":null,"type":"error"}}`,
		"POST /v1/chat/completions":             `400 {"error":{"code":null,"message":"the request is not the expected JSON: unexpected end of JSON input","param":null,"type":"error"}}`,
	} {
		method, path, _ := strings.Cut(path, " ")
		seen := httptest.NewRecorder()
		server.ServeHTTP(seen, httptest.NewRequest(method, path, nil))
		if got := fmt.Sprint(seen.Code, " ", seen.Body); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

const script = `
answers:
  - {when: {contains: [weather, Paris]}, calls: [{name: forecast, args: '{"city":"Paris"}'}], times: 1}
  - {when: {result: sunny}, text: It is sunny.}
  - {when: {matches: '^(?i)bye'}, text: Goodbye., delay: 2s, chunk: 3}
  - {when: {model: other, path: /chat/completions}, text: I am other.}
  - {when: {form: json_schema, tool: t}, text: '{}'}
  - {when: {form: none, contains: [fail]}, status: 429, header: {Retry-After: "900"}, error: slow, times: 2}
  - {text: once}
`

func TestAScriptAnswersByItsRulesInOrder(t *testing.T) {
	path := musttest.Temp(t, "script.yaml", script)
	s := musttest.Get(llmtest.LoadScript(path))(t)
	s.Else = llmtest.Planner{}
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.New(s)
		e := client(t, "http://fake.test/v1", server, nil)
		began := time.Now()
		for _, step := range []struct{ ask, want string }{
			{"weather in Paris?", "[{call_1_0 forecast {\"city\":\"Paris\"}}]<nil>"},
			{"weather in Paris?", "once[]<nil>"},
			{"weather in Paris?", "Scripted answer to: weather in Paris?[]<nil>"},
			{"BYE now", "Goodbye.[]<nil>"},
			{"fail", "[]model default: rate limited (status 429): slow; retry after 15m0s"},
			{"fail", "[]model default: rate limited (status 429): slow; retry after 15m0s"},
			{"fail", "Scripted answer to: fail[]<nil>"},
		} {
			got, err := e.Do(t.Context(), ask(step.ask), nil)
			if said := fmt.Sprintf("%s%v%v", got.Text, got.Calls, err); said != step.want {
				t.Errorf("%q: %s, want %s", step.ask, said, step.want)
			}
		}
		if time.Since(began) != 2*time.Second {
			t.Errorf("took %s, want the delay of 2s", time.Since(began))
		}
		r := ask("so?")
		r.Messages = append(r.Messages, llm.Assistant("", llm.Call{ID: "c", Name: "forecast"}), llm.Result("c", "it is sunny"))
		if got, err := e.Do(t.Context(), r, nil); err != nil || got.Text != "It is sunny." {
			t.Errorf("%+v, %v", got, err)
		}
		last := server.Asked()[len(server.Asked())-1]
		want := []llmtest.Turn{{Role: "user", Text: "so?"}, {Role: "assistant", Calls: []string{"forecast"}}, {Role: "tool", CallID: "c", Text: "it is sunny"}}
		if diff := cmp.Diff(want, last.Turns); diff != "" || last.N != 8 || last.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %+v: %s", last, diff)
		}
	})
}

func TestAScriptIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"answers: [{txt: a}]":               "txt",
		"answers: [{when: {matches: '('}}]": "answers[0].when.matches",
		"{":                                 "read script",
	} {
		if _, err := llmtest.ReadScript(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if s, err := llmtest.ReadScript(strings.NewReader(`{"answers":[{"text":"json is yaml"}]}`)); err != nil || len(s.Rules) != 1 {
		t.Error(s, err)
	}
	_, err := client(t, "http://fake.test/v1", llmtest.New(llmtest.Say()), nil).Do(t.Context(), ask("hi"), nil)
	if err == nil || !strings.Contains(err.Error(), "no answer to question 1") {
		t.Error(err)
	}
}

func TestThePlannerAnswersAnyForm(t *testing.T) {
	plan := `{"type":"object","required":["adequate","reason","locale","title","subjobs","kind"],"additionalProperties":false,"properties":{
		"adequate":{"type":"boolean"},"reason":{"type":["string","null"]},"locale":{"type":"string"},"title":{"type":"string"},
		"kind":{"const":"plan"},"subjobs":{"type":"array","items":{"$ref":"#/$defs/step"}}},
		"$defs":{"step":{"type":"object","required":["id","goal","dependencies","expert","retries","when"],"properties":{
			"id":{"type":"string"},"goal":{"type":"string"},"dependencies":{"type":"array","items":{"type":"string"}},
			"expert":{"enum":["writer","reader"]},"retries":{"type":"integer","minimum":1},"when":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/when"}]}}},
			"when":{"type":"object","properties":{"again":{"$ref":"#/$defs/when"}}, "required":["again"]}}}`
	for _, rung := range []llm.Rung{llm.RungSchema, llm.RungObject, llm.RungTool, llm.RungPrompt} {
		e := client(t, "http://fake.test/v1", llmtest.New(llmtest.Planner{}), func(m *llm.ModelConfig) { m.Structured = rung })
		r := ask("Build a house\nwith a garden")
		r.Schema = &llm.Schema{Name: "plan", Schema: json.RawMessage(plan)}
		got, err := e.Do(t.Context(), r, nil)
		if err != nil {
			t.Errorf("%s: %v", rung, err)
			continue
		}
		var made struct {
			Adequate            bool
			Title, Kind, Locale string
			SubJobs             []struct {
				ID, Goal, Expert string
				Dependencies     []string
				Retries          int
			} `json:"subjobs"`
		}
		if err := json.Unmarshal([]byte(got.Text), &made); err != nil {
			t.Errorf("%s: %v in %s", rung, err, got.Text)
		}
		if !made.Adequate || made.Title != "Build a house" || made.Kind != "plan" || made.Locale != "en-US" || len(made.SubJobs) != 1 ||
			made.SubJobs[0].ID != "s1" || made.SubJobs[0].Expert != "writer" || made.SubJobs[0].Retries != 1 || made.SubJobs[0].Dependencies == nil {
			t.Errorf("%s: %s", rung, got.Text)
		}
	}
}

func TestThePlannerPlansInWordsAndCallsWhatItMust(t *testing.T) {
	e := client(t, "http://fake.test/v1", llmtest.New(llmtest.Planner{}), nil)
	r := llm.Request{Messages: []llm.Message{llm.System(`Answer with {"subjobs":[…]}.`), llm.User("Go")}}
	if got, err := e.Do(t.Context(), r, nil); err != nil || got.Text != `{"subjobs":[{"goal":"Go","id":"s1"}]}` {
		t.Errorf("%+v, %v", got, err)
	}
	again := llm.Request{Messages: []llm.Message{
		llm.System(`Answer with {"subjobs":[…]}.`), llm.User("The request:\nGo"), llm.Assistant("{}"), llm.User("That plan cannot be used.\nSend it again."),
	}}
	if got, err := e.Do(t.Context(), again, nil); err != nil || got.Text != `{"subjobs":[{"goal":"Go","id":"s1"}]}` {
		t.Errorf("what is said about a plan is taken for the request: %+v, %v", got, err)
	}
	r = ask("Look")
	r.Tools = []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)}}
	for choice, want := range map[string]string{"look": `{"query":"Look"}`, llm.ToolRequired: `{"query":"Look"}`, llm.ToolAuto: "", llm.ToolNone: ""} {
		r.ToolChoice = choice
		got, err := e.Do(t.Context(), r, nil)
		if err != nil || want != "" && (len(got.Calls) != 1 || got.Calls[0].Args != want) || want == "" && got.Calls != nil {
			t.Errorf("%s: %+v, %v", choice, got, err)
		}
	}
}

func TestThePlannerDeliversWhereWordsAreNoResult(t *testing.T) {
	e := client(t, "http://fake.test/v1", llmtest.New(llmtest.Planner{}), nil)
	for system, want := range map[string]string{
		"Give the <deliverable> when the work is done.":                 "<deliverable>Scripted answer to: Go</deliverable>",
		"Give the result between <deliverable> and </deliverable>.":     "Scripted answer to: Go",
		"Give the <deliverable>. JSON Schema:\n" + `{"type":"integer"}`: "<deliverable>0</deliverable>",
	} {
		got, err := e.Do(t.Context(), llm.Request{Messages: []llm.Message{llm.System(system), llm.User("Go")}}, nil)
		if err != nil || got.Text != want {
			t.Errorf("%s: %q, %v", system, got.Text, err)
		}
	}
}

func TestACallerWhoLeavesInTheMiddleEndsTheHandler(t *testing.T) {
	server := llmtest.New(llmtest.Say(llmtest.Answer{Text: strings.Repeat("x", 10000)}, llmtest.Answer{Text: "x", Fault: llmtest.Hang}))
	body := `{"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://fake.test/v1/chat/completions", strings.NewReader(body)))(t)
	resp, err := server.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	musttest.Get(io.ReadFull(resp.Body, make([]byte, 100)))(t)
	musttest.Do(t, resp.Body.Close())
}

// A model that is served for days would otherwise hold every question it was ever asked.
func TestAnUnrecordedServerCountsQuestionsAndKeepsNone(t *testing.T) {
	var numbers []int
	count := llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		numbers = append(numbers, q.N)
		return llmtest.Answer{Text: "hello"}, nil
	})
	for _, c := range []struct {
		server *llmtest.Server
		kept   int
	}{{llmtest.New(count), 3}, {llmtest.NewUnrecorded(count), 0}} {
		numbers = nil
		model := client(t, "http://fake.test/v1", c.server, nil)
		for range 3 {
			musttest.Get(model.Do(t.Context(), ask("hi"), nil))(t)
		}
		if diff := cmp.Diff([]int{1, 2, 3}, numbers); diff != "" || len(c.server.Asked()) != c.kept {
			t.Errorf("kept %d questions, want %d; numbers: %s", len(c.server.Asked()), c.kept, diff)
		}
	}
}
