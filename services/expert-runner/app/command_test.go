package app_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func commandSettings(t *testing.T, cards ...string) app.Settings {
	t.Helper()
	s := app.Default()
	s.Experts, s.WorkDir, s.Sandbox = cards, t.TempDir(), "none"
	return s
}

func TestACommandDoesTheWork(t *testing.T) {
	w := servicetest.New(t)
	card := cardFile(t, t.TempDir(), "count.md", `{name: Count, kind: command, command: [sh, -c, 'wc -c; echo done >&2']}`)
	start(w, commandSettings(t, card), app.Deps{})
	o := work("count", "j1", "a", 1)
	w.Issue(o)
	got := w.Report(o)
	if n, err := strconv.Atoi(strings.Trim(string(got.Output), "\" \\n")); got.Outcome != events.Success || err != nil || n < 100 {
		t.Errorf("report: %+v", got)
	}
	w.Idle()
	list, _, err := w.Bus.Journal("j1", "a").Read(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "command" || !list[0].Safe {
		t.Errorf("journal %+v, %v", list, err)
	}
}

// alive reports whether a process exists and is not a zombie: orphans wait for the machine's first process to reap them.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A run that has taken too long does not continue unnoticed.
// proves F-weakness-issue-2819
func TestACommandThatTakesTooLongLeavesNobodyOfItsGroup(t *testing.T) {
	w := servicetest.New(t)
	dir := t.TempDir()
	card := cardFile(t, dir, "long.md", `{name: long, kind: command, command: [sh, -c, 'sleep 3600 & echo $$ $! >`+dir+`/pids; wait']}`)
	settings := commandSettings(t, card)
	settings.KillGrace = time.Hour
	start(w, settings, app.Deps{})
	o := work("long", "j1", "a", 1)
	timeout := events.Duration(3 * time.Second)
	o.Spec.Timeout = &timeout
	w.Issue(o)
	if got := w.Report(o); got.Error == nil || got.Error.Code != events.CodeTimeout {
		t.Errorf("report: %+v", got)
	}
	text := musttest.Read(t, filepath.Join(dir, "pids"))
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience) // Before it ends by itself.
	defer stop()
	w.Until("the group is gone", func() bool {
		return ctx.Err() != nil || !slices.ContainsFunc(strings.Fields(string(text)), alive)
	})
	if ctx.Err() != nil {
		t.Error("it goes on")
	}
}

// The group has an hour to end by itself: only a prompt cancellation ends the test.
func TestACancelKillsTheWholeGroupOfACommandAtOnce(t *testing.T) {
	w := servicetest.New(t)
	dir := t.TempDir()
	card := cardFile(t, dir, "long.md", `{name: long, kind: command, command: [sh, -c, 'sleep 600 & echo $$ $! >`+dir+`/$JOBGRAPH_SUBJOB; wait']}`)
	settings := commandSettings(t, card)
	settings.KillGrace = time.Hour
	start(w, settings, app.Deps{})
	for i := range 5 {
		o := work("long", "j1", "s"+strconv.Itoa(i), 1)
		w.Issue(o)
		var pids []string
		w.Until("the command runs", func() bool {
			text, err := os.ReadFile(filepath.Join(dir, o.SubJob))
			pids = strings.Fields(string(text))
			return err == nil && strings.HasSuffix(string(text), "\n") && len(pids) == 2
		})
		body := musttest.JSON(t, map[string]any{"run": 1, "reason": "stop"})
		musttest.Do(t, w.Bus.PublishCore(w.Names.Cancel("j1", o.SubJob), nil, body))
		w.Until("the group is gone", func() bool { return !alive(pids[0]) && !alive(pids[1]) })
		if got := w.Report(o); got.Error == nil || got.Error.Code != events.CodeCancelled {
			t.Errorf("report: %+v", got)
		}
	}
}

func TestBytesOfACommandReachItsSuccessorAsAFile(t *testing.T) {
	w := servicetest.New(t)
	dir := t.TempDir()
	a := cardFile(t, dir, "a.md", `{name: a, kind: command, command: [sh, -c, "printf '\\377\\001'"]}`)
	b := cardFile(t, dir, "b.md", `{name: b, kind: command, command: [sh, -c, 'cat results/a | wc -c']}`)
	start(w, commandSettings(t, a, b), app.Deps{})
	first := work("a", "j1", "a", 1)
	w.Issue(first)
	got := w.Report(first)
	if got.OutputRef == nil || got.OutputRef.MediaType != "application/octet-stream" || got.OutputRef.Size != 2 {
		t.Fatalf("report: %+v %+v", got, got.OutputRef)
	}
	second := work("b", "j1", "b", 1)
	second.Results = map[string]events.Result{"a": {OutputRef: got.OutputRef}}
	w.Issue(second)
	if got := w.Report(second); string(got.Output) != "2" {
		t.Errorf("report: %+v", got)
	}
}
