package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// row returns a job of n steps, each of which depends on the one before.
func row(t *testing.T, steps int) *joblog.Log {
	t.Helper()
	plan := &events.Plan{}
	for n := range steps {
		s := events.SubJob{ID: fmt.Sprintf("s%d", n), Goal: "go", Expert: "reader"}
		if n > 0 {
			s.Dependencies = []string{fmt.Sprintf("s%d", n-1)}
		}
		plan.SubJobs = append(plan.SubJobs, s)
	}
	result := musttest.Get(jobtest.Script{Plan: plan, Default: func(events.Work) events.SubJobReported { return jobtest.Succeed("done") }}.Run())(t)
	h := joblog.New()
	for n, e := range result.Events {
		e.Seq = uint64(n + 1)
		musttest.Do(t, h.Step(e))
	}
	return h
}

// hears passes items to a Talk and returns the rows.
func hears(talk *Talk, h *joblog.Log, items ...item.Item) (rows []string) {
	for n := range items {
		rows = append(rows, talk.take(&items[n], h, 80)...)
	}
	return rows
}

func says(subjob, id, text string, done bool) item.Item {
	return item.Item{Type: item.Text, SubJob: subjob, Run: 1, ID: id, Text: text, Done: done}
}

// after returns a piece of text that continues at an offset.
func after(offset int, i item.Item) item.Item {
	i.Offset = offset
	return i
}

func shows(t *testing.T, rows []string, want ...string) {
	t.Helper()
	musttest.Equal(t, want, rows)
}

// Items that arrive before the log has their step are shown once it does, and only a limited number is kept.
func TestWhatComesBeforeItsStepWaits(t *testing.T) {
	talk := &Talk{}
	shows(t, hears(talk, joblog.New(), says("s0", "a", "early", true)))
	shows(t, talk.known(joblog.New(), 80))
	if talk.quiet() {
		t.Error("it counts as shown")
	}
	h := row(t, 1)
	shows(t, hears(talk, h, says("s7", "b", "of no step", true)))
	shows(t, talk.known(h, 80), "● s0", "early")
	shows(t, talk.known(h, 80))
	for range 2 * mostEarly {
		hears(talk, h, says("s7", "b", "more", true))
	}
	if len(talk.early) != mostEarly {
		t.Errorf("%d are kept", len(talk.early))
	}
}

func TestWhoSpeaksWhole(t *testing.T) {
	step := func(id string, status events.Status, deps ...int32) *graph.SubJobState {
		return &graph.SubJobState{ID: id, Status: status, Deps: deps}
	}
	for name, c := range map[string]struct {
		steps []*graph.SubJobState
		want  string
	}{
		"one step":               {[]*graph.SubJobState{step("a", events.Running)}, "a"},
		"the last of two":        {[]*graph.SubJobState{step("a", events.Running), step("b", events.Running, 0)}, "b"},
		"two ends":               {[]*graph.SubJobState{step("a", events.Running), step("b", events.Running)}, ""},
		"what a replaced needed": {[]*graph.SubJobState{step("a", events.Running), step("b", events.Legacy, 0)}, "a"},
		"after a replaced one":   {[]*graph.SubJobState{step("x", events.Legacy), step("a", events.Running), step("b", events.Running, 1)}, "b"},
		"a result":               {[]*graph.SubJobState{step(events.PlanID, events.Running), step("a", events.Running), step(events.FinalID, events.Running, 1)}, "a"},
	} {
		state := &graph.State{SubJobs: c.steps}
		for _, id := range []string{"a", "b"} {
			if got := whole(state, id); got != (id == c.want) {
				t.Errorf("%s: %s speaks: %t", name, id, got)
			}
		}
		if !whole(state, events.PlanID) || !whole(state, events.FinalID) {
			t.Errorf("%s: planner or result do not speak", name)
		}
	}
}

func TestCallsOfFewStepsAreShown(t *testing.T) {
	for steps, want := range map[int]string{fewSteps - 1: "● s0,> run   done", fewSteps + 1: ""} {
		h, talk := row(t, steps), &Talk{}
		if n := len(h.Job.View().SubJobs); (n > fewSteps) != (want == "") {
			t.Fatalf("%d steps", n)
		}
		call := item.Item{Type: item.Tool, SubJob: "s0", Run: 1, ID: "t", Tool: "run", Done: true}
		if got := strings.Join(hears(talk, h, call), ","); got != want {
			t.Errorf("%d steps: %q", steps, got)
		}
		call.SubJob = fmt.Sprintf("s%d", steps-1)
		if got := hears(talk, h, call); len(got) == 0 {
			t.Errorf("%d steps: the call of the last one is not shown", steps)
		}
	}
}

// The text of one step is not interrupted by another step's; the next text of the same step ends it.
func TestTextsTakeTurns(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	shows(t, hears(talk, h, says(events.PlanID, "p", "I pl", false), says("s0", "a", "first\n", false), after(6, says("s0", "a", "second", true))))
	shows(t, talk.open(80), "● planner", "I pl")
	shows(t, hears(talk, h, after(4, says(events.PlanID, "p", "an.", true))), "● planner", "I plan.", "● s0", "first", "second")
	shows(t, hears(talk, h, says("s0", "b", "half", false), says("s0", "c", "whole", true)), "half", "whole")
	if !talk.quiet() || !told(talk, "whole") || told(talk, "half") {
		t.Errorf("quiet %t, told %q", talk.quiet(), talk.last)
	}
}

// A text that starts again from its beginning is shown again, to its end.
func TestATextThatIsSaidAgainEndsAgain(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	shows(t, hears(talk, h, says("s0", "a", "so", true)), "● s0", "so")
	shows(t, hears(talk, h, says("s0", "a", "", true)))
	shows(t, hears(talk, h, says("s0", "a", "so", false), says("s0", "a", "", true)), "so")
	if !talk.quiet() {
		t.Error("it is not over")
	}
}

func TestAtTheEndEverythingThatWasSaidIsShown(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	hears(talk, h, says(events.PlanID, "p", "I plan", false), says("s0", "a", "I wait", false), says(events.FinalID, "f", "of nothing", true))
	shows(t, talk.flush(80), "● planner", "I plan", "● s0", "I wait")
	if len(talk.voices) != 0 || len(talk.waiting) != 0 || !told(talk, "I wait") {
		t.Errorf("left: %v, %v, %q", talk.voices, talk.waiting, talk.last)
	}
}

// told reports whether a talk has shown all of a text.
func told(t *Talk, text string) bool {
	told, rest := t.Told(text)
	return told && rest == ""
}

// The planner puts a row before the words of a model, or their sources below: only what was not shown is shown then.
func TestOfATextThatWasShownInPartTheRestIsTold(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	hears(talk, h, says("s0", "a", "It is\nso.", true))
	for _, c := range []struct {
		text, rest string
		told       bool
	}{
		{"It is\nso.", "", true},
		{"Plan completed:\n\nIt is\nso.", "", true},
		{"计划已完成：\n\nIt is\nso.\n", "", true},
		{"It is\nso.\n\n## Key Citations\n- one", "## Key Citations\n- one", true},
		{"First.\nThen:\nIt is\nso.", "First.\nThen:\nIt is\nso.", false},
		{"A step\n\nIt is\nso.", "A step\n\nIt is\nso.", false},
		{"She says: It is\nso.", "She says: It is\nso.", false},
		{"It is\nso.me", "It is\nso.me", false},
		{"It is", "It is", false},
	} {
		if told, rest := talk.Told(c.text); told != c.told || rest != c.rest {
			t.Errorf("%q: %t, %q", c.text, told, rest)
		}
	}
}

func TestOnlyTheLatestTextCountsAsTold(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	hears(talk, h, item.Item{Type: item.Thinking, SubJob: "s0", Run: 1, ID: "h", Text: "a thought", Done: true})
	if told(talk, "a thought") || told(talk, "") || told(nil, "a thought") {
		t.Error("a thought is told")
	}
	hears(talk, h, says("s0", "a", "an answer ", true))
	if !told(talk, " an answer\n") || told(talk, "another") {
		t.Error("the answer is not told")
	}
	hears(talk, h, item.Item{Type: item.Tool, SubJob: "s0", Run: 1, ID: "t", Tool: "run", Done: true})
	if told(talk, "an answer") {
		t.Error("it is told though a call stands below it")
	}
}

// Thoughts and program output are dim, texts are not, whatever the id of the text is.
func TestThoughtsAreDim(t *testing.T) {
	h, talk := row(t, 1), &Talk{Paint: true, speaker: "s0"}
	shows(t, hears(talk, h,
		item.Item{Type: item.Thinking, SubJob: "s0", Run: 1, ID: "h", Text: "hm", Done: true},
		item.Item{Type: item.Log, SubJob: "s0", Run: 1, ID: "l", Text: "logged", Done: true},
		says("s0", "t/output", "said", true),
		item.Item{Type: item.Log, SubJob: "s0", Run: 1, ID: "t/output", Text: "printed"},
	), "\x1b[2m~ hm\x1b[0m", "\x1b[2m! logged\x1b[0m", "said", "\x1b[2m! printed\x1b[0m")
}

func TestOfManyCallsInProgressSomeAreShown(t *testing.T) {
	h, talk := row(t, 1), &Talk{}
	for n := range mostCalls + 2 {
		hears(talk, h, item.Item{Type: item.Tool, SubJob: "s0", Run: 1, ID: fmt.Sprint(n), Tool: "run"})
	}
	if rows := talk.open(80); len(rows) != mostCalls || talk.quiet() {
		t.Errorf("%q, quiet %t", rows, talk.quiet())
	}
}
