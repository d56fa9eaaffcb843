package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// budgets writes a configuration file for the schedulers of a world.
func (w *workers) budgets(text string) {
	w.Config = filepath.Join(w.TempDir(), "jobgraph.yaml")
	musttest.Write(w, w.Config, "version: 1\nbudgets:\n"+text)
}

// spending is a worker each of whose runs uses this many tokens.
func spending(tokens int64) func(*events.Work) *events.SubJobReported {
	return func(*events.Work) *events.SubJobReported {
		return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`1`), Spent: events.Spent{Tokens: tokens}}
	}
}

// spent submits a job and waits until its end is saved, which the ledger knows before.
func (w *workers) spent(id, session string, steps ...events.SubJob) *events.JobEnded {
	w.Helper()
	r := events.Request{ID: id, Goal: "g", Session: session, Plan: plan(steps...)}
	if _, fault := w.ask("submit", string(w.JSON(r))); fault != nil {
		w.Fatalf("%s: %v", id, fault)
	}
	end := w.Ended(id)
	w.saved(id, func(s *graph.State) bool { return s.Status.Terminal() && !s.EndOwed })
	return end
}

func TestASessionSpendsNoMoreThanItsBudget(t *testing.T) {
	told := make(chan int64, 10) // The remaining budget in the work of the second job.
	spend := spending(40)
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.Job == "second" {
			told <- work.Budget.Tokens
		}
		return spend(work)
	})
	w.budgets("  session: {tokens: 100}\n")
	w.schedule(Default(), Deps{})
	if end := w.spent("first", "s", sub("a")); end.Status != events.Finished || end.Tokens != 40 {
		t.Errorf("first: %+v", end)
	}
	// 60 are left: the second SubJob ends the job.
	end := w.spent("second", "s", sub("a"), sub("b", "a"), sub("c", "b"))
	if end.Status != events.Failed || end.Error.Code != events.CodeBudget || end.Tokens != 80 || !strings.Contains(end.Error.Message, "60 tokens") {
		t.Errorf("second: %+v %v", end, end.Error)
	}
	if first, second := <-told, <-told; first != 60 || second != 20 || len(told) != 0 {
		t.Errorf("the work says that %d and then %d are left", first, second)
	}
	_, fault := w.ask("submit", `{"id":"third","goal":"g","session":"s"}`)
	if fault == nil || fault.Code != events.CodeBudget || !strings.Contains(fault.Message, `session "s" has spent 120 of 100 tokens`) {
		t.Errorf("third: %v", fault)
	}
	if again, fault := w.ask("submit", fmt.Sprintf(`{"id":"first","goal":"g","session":"s","plan":%s}`, plan(sub("a")))); fault != nil || !strings.Contains(again, `"duplicate":true`) {
		t.Errorf("a repeat of the first: %s %v", again, fault)
	}
	if end := w.spent("other", "another", sub("a")); end.Status != events.Finished {
		t.Errorf("another session: %+v", end)
	}
}

func TestADaySpendsNoMoreThanItsBudgetAcrossSchedulers(t *testing.T) {
	w := newWorkers(t, spending(40))
	w.budgets("  day: {tokens: 70}\n  job: {tokens: 50}\n")
	scheduler := w.schedule(Default(), Deps{})
	if end := w.spent("first", "", sub("a")); end.Status != events.Finished {
		t.Errorf("first: %+v", end)
	}
	if err := scheduler.Stop(); err != nil {
		t.Error(err)
	}
	w.schedule(Default(), Deps{}) // It has the previous scheduler's saved states, and reads the same log.
	if end := w.spent("second", "", sub("a")); end.Status != events.Failed || !strings.Contains(end.Error.Message, "its budget is 30 tokens") {
		t.Errorf("second: %+v %v", end, end.Error)
	}
	if _, fault := w.ask("submit", `{"id":"third","goal":"g"}`); fault == nil || fault.Code != events.CodeBudget || !strings.Contains(fault.Message, "all jobs of this day have spent 80 of 70 tokens") {
		t.Errorf("third: %v", fault)
	}
}

func TestABudgetThatIsNoneNamesItsPlace(t *testing.T) {
	w := newWorkers(t, nil)
	w.budgets("  day: {tokens: -1}\n  week: {tokens: 1}\n")
	_, err := ReadConfig(w.Config, nil)
	for _, part := range []string{"jobgraph.yaml:3", "week"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %q", err, part)
		}
	}
}
