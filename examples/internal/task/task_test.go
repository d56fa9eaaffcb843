package task_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/task"
)

type shape struct {
	Parts []string `json:"parts"`
}

func run(t *testing.T, in string, work func(context.Context, task.Task) (any, error)) (task.Report, string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := task.Run(t.Context(), strings.NewReader(in), &out, &errs, work); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	var r task.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("report %q: %v", out.String(), err)
	}
	return r, errs.String()
}

func TestEachEndOfTheWorkHasItsOutcome(t *testing.T) {
	for _, c := range []struct {
		name, in string
		err      error
		want     task.Report
	}{
		{"success", `{"goal":"g"}`, nil, task.Report{Outcome: task.Success, Output: "g"}},
		{"failure", `{}`, errors.New("disk is full"), task.Report{Outcome: task.ExecutionError, Output: nil, Error: "disk is full"}},
		{"bad input", `{}`, task.Bad("give %s", "more"), task.Report{Outcome: task.InputDataError, Lesson: "give more", Error: "give more"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, errs := run(t, c.in, func(_ context.Context, t task.Task) (any, error) { return t.Goal, c.err })
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if strings.TrimSpace(errs) != c.want.Error {
				t.Errorf("standard error is %q, want %q", errs, c.want.Error)
			}
		})
	}
}

func TestATaskThatIsNoTaskIsAnInputError(t *testing.T) {
	for _, in := range []string{`[]`, `{"run":"one"}`, `{`, `{"deadline":"soon"}`} {
		got, _ := run(t, in, func(context.Context, task.Task) (any, error) { t.Error("the work was done"); return nil, nil })
		if got.Outcome != task.InputDataError || !strings.Contains(got.Lesson, "command-expert contract") {
			t.Errorf("%s gives %+v", in, got)
		}
	}
}

func TestWorkEndsAtItsDeadline(t *testing.T) {
	got, _ := run(t, `{"deadline":"2001-01-01T00:00:00Z"}`, func(ctx context.Context, _ task.Task) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if got.Outcome != task.ExecutionError {
		t.Errorf("got %+v", got)
	}
}

func TestPredecessorsAreKnownByWhatTheyHandOver(t *testing.T) {
	in := `{"results":{
		"b":{"output":{"parts":["b"]}},
		"a":{"output":"{\"parts\":[\"a\"]}"},
		"c":{"output":{"other":1}},
		"d":{"skipped":true},
		"e":{"output":"plain words"},
		"f":{"output":null}}}`
	got, err := task.Read(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for v, err := range task.Outputs[shape](got, "parts") {
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, v.Parts...)
	}
	if want := []string{"a", "b"}; !reflect.DeepEqual(parts, want) {
		t.Errorf("got %v, want %v", parts, want)
	}
}

func TestAnOutputOfTheWrongShapeIsAFaultThatNamesItsStep(t *testing.T) {
	got, err := task.Read(strings.NewReader(`{"results":{"survey":{"output":{"parts":"many"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range task.Outputs[shape](got, "parts") {
		var fault *task.Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), `"survey"`) {
			t.Errorf("got %v", err)
		}
		return
	}
	t.Error("the output was passed over")
}

func TestAFolderIsRefusedWithAWordOnWhatToGive(t *testing.T) {
	dir := t.TempDir()
	s := filepath.Join(dir, "none")
	raw, _ := json.Marshal(s)
	for name, in := range map[string]string{
		"absent":          `{}`,
		"not text":        `{"inputs":{"path":["a"]}}`,
		"relative":        `{"inputs":{"path":"../.."},"workspace":"/w"}`,
		"missing":         `{"inputs":{"path":` + string(raw) + `}}`,
		"no folder":       `{"inputs":{"path":"task_test.go"}}`,
		"null and nobody": `{"inputs":{"path":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := task.Read(strings.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			root, _, err := got.OpenFolder("path", "")
			var fault *task.Fault
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), "give") {
				t.Errorf("got %v and error %v", root, err)
			}
		})
	}
}
