package person_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/person"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

const form = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":false}`

func work() *events.Work {
	return &events.Work{
		Kind: events.WorkExecute, Job: "j1", SubJob: "count", Run: 1, Attempt: 1, Goal: "Count the boxes",
		Results: map[string]events.Result{"b": {Output: json.RawMessage(`"hall 2"`)}, "a": {Output: json.RawMessage(`{"hall":1}`)}},
	}
}

func run(t *testing.T, c person.Config, w *events.Work) task.Ending {
	t.Helper()
	x := musttest.Get(person.New(c))(t)
	return x.Run(t.Context(), &expert.Task{Work: w})
}

// answered returns the run that the answer to run 1 starts.
func answered(answer string) *events.Work {
	w := work()
	w.Run, w.ResumeOf = 2, 1
	w.Answers = map[string]events.InputClosed{"count~1~form": {Action: events.Answered, Answer: json.RawMessage(answer), By: "ada"}}
	return w
}

// proves F-weakness-issue-3016-run
func TestAPersonIsAskedThroughTheForm(t *testing.T) {
	e := run(t, person.Config{Form: []byte(form), Intro: "Go and look.", Expires: time.Hour, Default: map[string]any{"n": 0}}, work())
	want := &events.InputRequested{
		Request: "count~1~form", Kind: events.InputForm, Schema: []byte(form), ExpiresIn: events.Duration(time.Hour), Default: []byte(`{"n":0}`),
		Prompt: "Go and look.\nCount the boxes\nFrom a: {\"hall\":1}\nFrom b: \"hall 2\"",
	}
	musttest.Equal(t, want, e.Park)
}

func TestWithoutAFormWordsAreEnough(t *testing.T) {
	if e := run(t, person.Config{}, work()); e.Park == nil || e.Park.Kind != events.InputClarification || e.Park.User != "" {
		t.Errorf("%+v", e.Park)
	}
	if e := run(t, person.Config{}, answered(`"seven"`)); e.Report == nil || string(e.Report.Output) != `"seven"` {
		t.Errorf("%+v", e.Report)
	}
}

func TestTheFormOfTheSubJobWins(t *testing.T) {
	w := work()
	w.Spec.OutputSchema = []byte(`{"type":"string"}`)
	if e := run(t, person.Config{Form: []byte(form)}, w); string(e.Park.Schema) != `{"type":"string"}` {
		t.Errorf("%+v", e.Park)
	}
	w.Spec.OutputSchema = []byte(`{"type":"nothing"}`)
	if e := run(t, person.Config{}, w); e.Report == nil || e.Report.Error.Code != events.CodeInvalid {
		t.Errorf("%+v", e.Report)
	}
}

func TestOnlyAUserThatIsNamedIsTheRightPerson(t *testing.T) {
	w := work()
	w.User = "bob"
	if e := run(t, person.Config{}, w); e.Park.User != "bob" {
		t.Errorf("%+v", e.Park)
	}
	if e := run(t, person.Config{User: "ada"}, w); e.Park.User != "ada" {
		t.Errorf("%+v", e.Park)
	}
}

func TestTheAnswerIsTheResult(t *testing.T) {
	e := run(t, person.Config{Form: []byte(form)}, answered(`{"n":7}`))
	if e.Report == nil || e.Report.Outcome != events.Success || string(e.Report.Output) != `{"n":7}` {
		t.Errorf("%+v", e)
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForAgain(t *testing.T) {
	e := run(t, person.Config{Form: []byte(form)}, answered(`{"n":"seven"}`))
	if e.Park == nil || e.Park.Request != "count~2~form" || !strings.HasPrefix(e.Park.Prompt, "The last answer does not fit: /n: got string, want integer\n") {
		t.Errorf("%+v", e.Park)
	}
}

func TestARejectionIsAnErrorWithTheReasonAsItsLesson(t *testing.T) {
	w := answered(`{"approved":false,"reason":"nobody is there"}`)
	e := run(t, person.Config{Form: []byte(form)}, w)
	r := e.Report
	if r == nil || r.Outcome != events.ExecutionError || r.Lesson != "nobody is there" || r.Error.Code != events.CodeRejected || r.Error.Message != "ada rejected the work" {
		t.Fatalf("%+v", r)
	}
	// The next attempt resumes the same run and asks again.
	w.Run, w.Attempt, w.Lessons = 3, 2, []string{"nobody is there"}
	e = run(t, person.Config{Form: []byte(form)}, w)
	if e.Park == nil || e.Park.Request != "count~3~form2" || !strings.Contains(e.Park.Prompt, "Learned before: nobody is there") {
		t.Errorf("%+v", e)
	}
	w.Run, w.ResumeOf = 4, 3
	w.Answers["count~3~form2"] = events.InputClosed{Action: events.Answered, Answer: []byte(`{"n":1}`)}
	if e := run(t, person.Config{Form: []byte(form)}, w); e.Report == nil || e.Report.Outcome != events.Success {
		t.Errorf("%+v", e)
	}
}

func TestAFormMayAskForApprovedItself(t *testing.T) {
	own := []byte(`{"type":"object","properties":{"approved":{"type":"boolean"}}}`)
	if e := run(t, person.Config{Form: own}, answered(`{"approved":false}`)); e.Report.Outcome != events.Success {
		t.Errorf("%+v", e.Report)
	}
	if e := run(t, person.Config{}, answered(`{"approved":false,"n":1}`)); e.Report.Outcome != events.Success {
		t.Errorf("%+v", e.Report)
	}
	if e := run(t, person.Config{}, answered(`{"approved":false}`)); e.Report.Lesson != "no reason was given" {
		t.Errorf("%+v", e.Report)
	}
}

func TestAPersonReadsTheWorkWhole(t *testing.T) {
	w := work()
	w.Context = strings.Repeat("ä", 20_000)
	w.Inputs = map[string]json.RawMessage{"terms": json.RawMessage(`"` + strings.Repeat("y", 9000) + `, and all of it for ann"`)}
	e := run(t, person.Config{}, w)
	if got := e.Park.Prompt; !strings.Contains(got, w.Context+"\n") || !strings.Contains(got, "y, and all of it for ann\"\n") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestWorkTooLongForAMessageIsCutWithAMark(t *testing.T) {
	w := work()
	w.Context = strings.Repeat("ä", 40_000)
	w.Results = map[string]events.Result{"a": {Output: json.RawMessage(`"` + strings.Repeat("z", 5000) + `"`)}}
	e := run(t, person.Config{}, w)
	for _, want := range []string{
		"ä… (8192 of 80000 bytes; all of it: jobgraph describe j1/count -o json)\n",
		"z… (2048 of 5002 bytes; all of it: jobgraph describe j1/a -o json)",
	} {
		if !strings.Contains(e.Park.Prompt, want) {
			t.Errorf("no %q in %d bytes", want, len(e.Park.Prompt))
		}
	}
	w.Context = ""
	for range 50 {
		w.Lessons = append(w.Lessons, strings.Repeat("\x01", 5000))
	}
	e = run(t, person.Config{}, w)
	if !strings.Contains(e.Park.Prompt[len(e.Park.Prompt)-100:], "… (65536 of ") {
		t.Errorf("it ends with %q", e.Park.Prompt[len(e.Park.Prompt)-100:])
	}
	if body, err := json.Marshal(e.Park); err != nil || len(body) > events.MaxMessage*9/10 {
		t.Errorf("%d bytes do not fit a message: %v", len(body), err)
	}
}

func TestAWrongCardIsRefused(t *testing.T) {
	for name, c := range map[string]person.Config{
		"a negative wait":           {Expires: -1},
		"a default without expiry":  {Default: "x"},
		"a wrong form":              {Form: []byte(`{"type":"nothing"}`)},
		"a default that is misfit":  {Form: []byte(form), Expires: time.Hour, Default: "x"},
		"a default that is no JSON": {Expires: time.Hour, Default: map[any]any{1: 2}},
	} {
		if _, err := person.New(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
