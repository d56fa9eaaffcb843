package app_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// coder is a model that writes a script, runs it twice, and answers with the output of the second run. Each run leaves a mark in a
// folder outside, which counts the runs.
func coder(marks string) *llmtest.Server {
	calls := []llmtest.Call{
		{Name: "edit", Args: `{"do":"create","path":"add.sh","new":"echo $(($1 + $2))\n"}`},
		{Name: "run", Args: `{"command":"sh add.sh 40 1 >sum; echo >>` + marks + `/first; cat sum"}`},
		{Name: "edit", Args: `{"do":"replace","path":"add.sh","old":"$2","new":"$2 + 1"}`},
		{Name: "run", Args: `{"command":"sh add.sh 40 1 >>sum; echo >>` + marks + `/second; cat sum; exit 3"}`},
	}
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if n := (len(q.Turns) - 2) / 2; n < len(calls) {
			return llmtest.Answer{Calls: calls[n : n+1]}, nil
		}
		return llmtest.Answer{Text: "<deliverable>" + q.Last("tool") + "</deliverable>"}, nil
	}))
}

// A runner dies at each boundary of a run in turn. The next runner has the files that programs left, and repeats no finished call.
func TestARunThatContinuesHasTheFilesOfItsProgramsAndRepeatsNone(t *testing.T) {
	killedInTurn(t, 20, []string{"first", "second"}, func(t *testing.T, marks string) (app.Settings, *llmtest.Server) {
		t.Helper()
		return agents(t, card(t, "tools: [run, edit, find]\nrun: {write: ["+marks+"]}\n")), coder(marks)
	}, func(output string) bool { return output == `"41\n42\n[exit code 3]"` })
}

// killedInTurn runs an agent undisturbed, and then with a runner that dies at one boundary of the run after another while a second
// runner continues. Each program writes a byte into a separate file in the folder marks. The run must have at least this many
// boundaries and the wanted output, and no call may have two results.
func killedInTurn(t *testing.T, least int, programs []string, with func(t *testing.T, marks string) (app.Settings, *llmtest.Server), fits func(output string) bool) {
	t.Helper()
	boundaries := 0
	play := func(t *testing.T, n int) {
		w, marks := servicetest.New(t), t.TempDir()
		settings, model := with(t, marks)
		hook, crashed, count := crashes(n)
		first := start(w, settings, app.Deps{Owner: "one", Hook: hook, Doer: model, Sandbox: helper})
		o := work("agent", "j1", "a", 1)
		o.Lease = events.Duration(300 * time.Millisecond)
		state(w, o, true)
		w.Issue(o)
		if n > 0 {
			<-crashed
			first.Kill()
			start(w, settings, app.Deps{Owner: "two", Doer: model, Sandbox: helper})
		}
		got := w.Report(o)
		if got.Outcome != events.Success || !fits(string(got.Output)) {
			t.Errorf("report: %+v %s", got, got.Output)
		}
		for _, name := range programs {
			// A call in progress may be repeated, since its program changes only the workspace.
			if text, err := os.ReadFile(filepath.Join(marks, name)); err != nil || len(text) > 2 {
				t.Errorf("the program %s ran %d times, %v", name, len(text), err)
			}
		}
		for key, times := range results(w, "j1", "a") {
			if times != 1 {
				t.Errorf("%s has %d results", key, times)
			}
		}
		if n == 0 {
			boundaries = count()
		}
	}
	t.Run("undisturbed", func(t *testing.T) { play(t, 0) })
	if boundaries < least {
		t.Fatalf("only %d boundaries", boundaries)
	}
	for n := 8; n <= boundaries; n += 4 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel() // Each case waits for the broker to redeliver the work.
			play(t, n)
		})
	}
}

func TestARunWithoutASandboxIsNotOffered(t *testing.T) {
	w := servicetest.New(t)
	model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		return llmtest.Answer{Text: "<deliverable>" + strings.Join(slices.Sorted(maps.Keys(q.Tools)), " ") + "</deliverable>"}, nil
	}))
	settings := agents(t, card(t, "tools: [run, find]\n"))
	settings.Sandbox = "auto"
	start(w, settings, app.Deps{Doer: model}) // This test binary cannot start a sandbox.
	o := work("agent", "j1", "a", 1)
	w.Issue(o)
	if got := w.Report(o); strings.Contains(string(got.Output), "run") || !strings.Contains(string(got.Output), "find") {
		t.Errorf("offered: %s", got.Output)
	}
}
