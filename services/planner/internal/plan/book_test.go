package plan

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// do parses and executes an operation.
func do(b *Book, raw string) (string, error) {
	op, faults := ReadOperation([]byte(raw))
	if len(faults) > 0 {
		return "", &faults[0]
	}
	return b.Do(op)
}

func must(t *testing.T, b *Book, raw string) string {
	t.Helper()
	text, err := do(b, raw)
	if err != nil {
		t.Fatal(raw, err)
	}
	return text
}

// proves O-T9
func TestPlanOperationsFollowTheirRulesAndSayWhatIsWrong(t *testing.T) {
	b := &Book{}
	if text := must(t, b, `{"command":"list"}`); !strings.Contains(text, "no plans") {
		t.Error(text)
	}
	for _, test := range []struct{ op, code, message, hint string }{
		{`{"command":"get"}`, "missing", "no plan is active", "set_active"},
		{`{"command":"mark_step","step_index":0}`, "missing", "no plan is active", "set_active"},
	} {
		refused(t, b, test.op, test.code, test.message, test.hint)
	}
	must(t, b, `{"command":"create","plan_id":"p","title":"T","steps":["one","two"]}`)
	if b.Active != "p" {
		t.Error("a new plan is not the active one")
	}
	for _, test := range []struct{ op, code, message, hint string }{
		{`{"command":"create"}`, "missing", "plan_id is needed for create", ""},
		{`{"command":"create","plan_id":"p","title":"T","steps":["a"]}`, "conflict", `plan "p" exists already`, "update"},
		{`{"command":"create","plan_id":"q"}`, "missing", "title is needed for create", ""},
		{`{"command":"create","plan_id":"q","title":"T"}`, "missing", "steps must be a list of at least one text for create", ""},
		{`{"command":"create","plan_id":"q","title":"T","steps":[]}`, "missing", "steps must be a list", ""},
		{`{"command":"create","plan_id":"q","title":"T","steps":"a"}`, "invalid", "expected a list of texts", ""},
		{`{"command":"create","plan_id":"q","title":"T","steps":["a",7]}`, "invalid", "steps[1]: is 7, expected a text", ""},
		{`{"command":"create","plan_id":"q","title":"T","steps":["a"," "]}`, "invalid", "steps[1]: says nothing", ""},
		{`{"command":"update","title":"T"}`, "missing", "plan_id is needed for update", ""},
		{`{"command":"mark_step","plan_id":"p","step_id":"one","step_status":"completed"}`, "invalid", `"one" is no number`, "0 to 1"},
		{`{"command":"update","plan_id":"x"}`, "not_found", `there is no plan "x"`, "list"},
		{`{"command":"update","plan_id":"p","steps":[]}`, "missing", "steps must be a list", ""},
		{`{"command":"get","plan_id":"x"}`, "not_found", `there is no plan "x"`, ""},
		{`{"command":"set_active"}`, "missing", "plan_id is needed for set_active", ""},
		{`{"command":"set_active","plan_id":"x"}`, "not_found", `there is no plan "x"`, ""},
		{`{"command":"mark_step"}`, "missing", "step_index is needed for mark_step", ""},
		{`{"command":"mark_step","step_index":2}`, "invalid", "there is no step 2", "0 to 1"},
		{`{"command":"mark_step","step_index":-1}`, "invalid", "there is no step -1", "0 to 1"},
		{`{"command":"mark_step","step_index":0,"step_status":"done"}`, "invalid", `unknown status "done"`, "not_started, in_progress, completed or blocked"},
		{`{"command":"mark_step","step_index":0,"plan_id":"x"}`, "not_found", `there is no plan "x"`, ""},
		{`{"command":"delete"}`, "missing", "plan_id is needed for delete", ""},
		{`{"command":"delete","plan_id":"x"}`, "not_found", `there is no plan "x"`, ""},
		{`{"command":"dance"}`, "invalid", `unknown command "dance"`, "create, update, list, get, set_active, mark_step, delete"},
		{`{"command":"list","speed":1}`, "unknown_field", `unknown field "speed"`, ""},
		{`[]`, "invalid", "expected an object", ""},
	} {
		refused(t, b, test.op, test.code, test.message, test.hint)
	}
	must(t, b, `{"command":"create","plan_id":"q","title":"Q","steps":["a"]}`)
	must(t, b, `{"command":"set_active","plan_id":"p"}`)
	must(t, b, `{"command":"mark_step","step_index":0,"step_status":"completed","step_notes":"quick"}`)
	want := "Plans:\n• p (active): T - 1/2 steps completed\n• q: Q - 0/1 steps completed\n"
	if got := must(t, b, `{"command":"list"}`); got != want {
		t.Errorf("%q", got)
	}
	must(t, b, `{"command":"delete","plan_id":"p"}`)
	if b.Active != "" {
		t.Error("a deleted plan is still active")
	}
	refused(t, b, `{"command":"get"}`, "missing", "no plan is active", "")
}

func refused(t *testing.T, b *Book, op, code, message, hint string) {
	t.Helper()
	before, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	_, err = do(b, op)
	var f *events.Fault
	if !errors.As(err, &f) || string(f.Code) != code || !strings.Contains(f.Error(), message) || !strings.Contains(f.Hint, hint) {
		t.Errorf("%s: %+v", op, err)
	}
	after, err := json.Marshal(b)
	if err != nil || string(before) != string(after) {
		t.Errorf("%s changed the plans: %s", op, after)
	}
}

// proves O-T10
func TestAnUpdateKeepsTheMarksOfStepsThatStayWhereverTheyStand(t *testing.T) {
	b := &Book{}
	must(t, b, `{"command":"create","plan_id":"p","title":"T","steps":["a","b","c","b"]}`)
	must(t, b, `{"command":"mark_step","step_index":0,"step_status":"completed","step_notes":"n"}`)
	must(t, b, `{"command":"mark_step","step_index":1,"step_status":"blocked"}`)
	must(t, b, `{"command":"mark_step","step_index":3,"step_status":"in_progress"}`)
	must(t, b, `{"command":"update","plan_id":"p","title":"U","steps":["new","a","b","b","c"]}`)
	want := []Line{{Text: "new", Mark: NotStarted}, {Text: "a", Mark: Completed, Notes: "n"}, {Text: "b", Mark: Blocked}, {Text: "b", Mark: InProgress}, {Text: "c", Mark: NotStarted}}
	if d := cmp.Diff(want, b.Boards[0].Lines); d != "" || b.Boards[0].Title != "U" {
		t.Error(d)
	}
	must(t, b, `{"command":"update","plan_id":"p","title":"V"}`)
	if d := cmp.Diff(want, b.Boards[0].Lines); d != "" || b.Boards[0].Title != "V" {
		t.Error(d)
	}
}

// proves O-T14
func TestThePlanTextIsAsAgreedByteForByte(t *testing.T) {
	b := &Book{}
	must(t, b, `{"command":"create","plan_id":"x1","title":"Trip","steps":["Pack","Go","Rest","Return"]}`)
	must(t, b, `{"command":"mark_step","step_index":0,"step_status":"completed"}`)
	must(t, b, `{"command":"mark_step","step_index":1,"step_status":"in_progress","step_notes":"by train"}`)
	must(t, b, `{"command":"mark_step","step_index":2,"step_status":"blocked"}`)
	want := "Plan: Trip (ID: x1)\n" +
		"===================\n" +
		"\n" +
		"Progress: 1/4 steps completed (25.0%)\n" +
		"Status: 1 completed, 1 in progress, 1 blocked, 1 not started\n" +
		"\n" +
		"Steps:\n" +
		"0. [✓] Pack\n" +
		"1. [→] Go\n" +
		"   Notes: by train\n" +
		"2. [!] Rest\n" +
		"3. [ ] Return\n"
	musttest.Equal(t, want, must(t, b, `{"command":"get"}`))
	empty := Board{ID: "e", Title: "E"}
	if text := empty.String(); !strings.Contains(text, "Progress: 0/0 steps completed (0.0%)") {
		t.Error(text)
	}
}

func TestStatusesAreMarkedAndTheFirstOpenStepIsCurrent(t *testing.T) {
	p := &events.Plan{Title: "T", SubJobs: []events.SubJob{{ID: "a", Goal: "do a", Tag: "swe2"}, {ID: "b", Title: "B"}, {ID: "c", Goal: "c"}, {ID: "d", Goal: "d"}}}
	status := map[string]events.Status{"a": events.Finished, "b": events.Waiting, "c": events.Failed, "d": events.Ready}
	board := BoardOf("j", p, func(id string) events.Status { return status[id] })
	want := []Line{{Text: "[SWE2] do a", Mark: Completed}, {Text: "B", Mark: InProgress}, {Text: "c", Mark: Blocked}, {Text: "d", Mark: NotStarted}}
	musttest.Equal(t, want, board.Lines)
	if at := slices.IndexFunc(board.Lines, func(l Line) bool { return l.Mark.Active() }); at != 1 {
		t.Error(at)
	}
	before := BoardOf("j", &events.Plan{SubJobs: []events.SubJob{{ID: "a", ExecutionRes: []byte("1")}, {ID: "b"}}}, nil)
	if before.Lines[0].Mark != Completed || before.Lines[1].Mark != NotStarted {
		t.Errorf("%+v", before.Lines)
	}
}
