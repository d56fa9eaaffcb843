package task_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

func lost(key, args string) run.Effect {
	return run.Effect{Key: key, Name: "tool pay", Args: json.RawMessage(args)}
}

func TestAPersonSeesWhatIsInDoubtWhole(t *testing.T) {
	w := &events.Work{Job: "j", SubJob: "s", Run: 1}
	long := `{"text":"` + strings.Repeat("x", 30_000) + ` and 250 for eve"}`
	e := task.Doubt(w, "The line broke.", lost("tool/1/0", long), lost("tool/1/1", long))
	if got := e.Park.Prompt; strings.Count(got, long+"\n") != 2 || !strings.HasSuffix(got, `{"effects":{"tool/1/0":{"choice":"retry"}}}.`) {
		t.Errorf("%d bytes end with %q", len(got), got[max(0, len(got)-100):])
	}
}

func TestWhatIsInDoubtAndTooLongIsCutWithAMark(t *testing.T) {
	w := &events.Work{Job: "j", SubJob: "s", Run: 1}
	many := make([]run.Effect, 40)
	for i := range many {
		many[i] = lost("k", `{"text":"`+strings.Repeat("<", 5000)+`"}`)
	}
	for name, c := range map[string]struct {
		why     string
		effects []run.Effect
		want    []string
	}{
		"one":  {"It broke.", []run.Effect{lost("k", `{"text":"`+strings.Repeat("&", 70_000)+`"}`)}, []string{"&… (32768 of 70027 bytes; all of it: jobgraph describe j/s)\n"}},
		"many": {"It broke.", many, []string{"<… (2048 of 5027 bytes; all of it: jobgraph describe j/s)\n", "\n- and 9 more: jobgraph describe j/s\n"}},
		"why":  {strings.Repeat("w", 9000), many[:1], []string{"w… (8192 of 9000 bytes; all of it: jobgraph describe j/s) It is unknown"}},
	} {
		e := task.Doubt(w, c.why, c.effects...)
		for _, want := range append(c.want, "Answer retry if it did not happen") {
			if !strings.Contains(e.Park.Prompt, want) {
				t.Errorf("%s: no %q in %q…", name, want, e.Park.Prompt[:min(300, len(e.Park.Prompt))])
			}
		}
		if body, err := json.Marshal(e.Park); err != nil || len(body) > events.MaxMessage*9/10 {
			t.Errorf("%s: %d bytes do not fit a message: %v", name, len(body), err)
		}
	}
}
