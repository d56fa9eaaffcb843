//go:build sweep

package endtoend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// tally is the cost of an errand: how often each question was sent to the model, and what the shop received.
type tally struct {
	shop *shop

	mu    sync.Mutex
	asked map[string]int // By conversation.
}

// respond returns the model's answer, and counts the question.
func (y *tally) respond(c *errand, q llmtest.Question) llmtest.Answer {
	y.mu.Lock()
	y.asked[conversation(&q)]++
	y.mu.Unlock()
	a := c.says(&q)
	for i := range a.Calls {
		if i == 0 {
			a.Calls = append([]llmtest.Call(nil), a.Calls...)
		}
		a.Calls[i].Args = strings.ReplaceAll(a.Calls[i].Args, "$SHOP", y.shop.url)
	}
	return a
}

// conversation returns what was said so far. The ids of calls are new in each answer and ignored.
func conversation(q *llmtest.Question) string {
	var b strings.Builder
	for _, t := range q.Turns {
		fmt.Fprintf(&b, "%s %v: %s\n", t.Role, t.Calls, t.Text)
	}
	return b.String()
}

// play plays an errand once.
func (c *errand) play(t *testing.T, p play) *played {
	t.Helper()
	var got played
	w := &witness{}
	s := &shop{paid: map[string]int{}, shown: map[string]int{}}
	server := httptest.NewUnstartedServer(s)
	server.Config.SetKeepAlivesEnabled(false) // An idle kept-alive connection would block virtual time.
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	y := &tally{shop: s, asked: map[string]int{}}
	dir := t.TempDir()
	for name, text := range c.cardsOf(y.shop.url) {
		musttest.Write(t, filepath.Join(dir, name), text)
	}
	virtual(t, func(s *system) {
		w.TB, s.TB, s.Quiet = s.TB, w, true
		defer w.end()
		s.cards, s.split = dir, c.split
		s.doer = llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) { return y.respond(c, q), nil }))
		if p.off != nil || p.pause {
			s.Patience, s.dial = short, s.through(p.off, p.pause)
		}
		trap := &trap{nth: p.nth, pause: p.pause, sprung: make(chan struct{}), woken: make(chan struct{})}
		defer func() { got.points = trap.points }()
		c.act(s, &p, trap, y, &got)
	})
	got.faults = w.faults
	return &got
}

// act starts the services, springs the trap at the runner, answers for people, and checks the end.
func (c *errand) act(s *system, p *play, trap *trap, y *tally, got *played) {
	s.start(schedulerName, nil)
	s.start(plannerName, nil)
	first := s.start(runnerName, trap.hook)
	defer s.attach(trap, first, runnerName)()
	s.Submit(events.Request{ID: "j", Goal: c.name, Plan: plan(c.steps...), Limits: c.limits, Inputs: map[string]json.RawMessage{"order": json.RawMessage(`"7"`)}})
	if p.pause {
		s.interrupt(trap)
	}
	c.attend(s, y)
	s.settled("j")
	got.outcome = s.outcome("j")
	got.outcome["result"] = strings.ReplaceAll(got.outcome["result"], y.shop.url, "$SHOP") // Its port differs each time.
	got.outcome["tokens"] = fmt.Sprint(s.Folded("j").View().Cost.Tokens)
	if p.pause {
		c.late(s, trap, y)
		return
	}
	c.judge(s, y, p.nth > 0)
	if p.off == nil { // Without a safety the calls have to show it.
		s.replayed("j", p.nth > 0)
	}
	for _, subject := range s.repeats("j") {
		s.Errorf("%s was said twice", subject)
	}
}

// attend answers questions to people until the job has ended.
func (c *errand) attend(s *system, y *tally) {
	want := cmp.Or(c.end, events.Finished)
	s.Await(s.Names.JobEvents("j"), func(e events.Event) bool {
		switch d := e.Data.(type) {
		case *events.InputRequested:
			answer := strings.ReplaceAll(string(y.shop.answerTo(c, d)), "$SHOP", y.shop.url)
			s.say("j", events.KindInputClosed, d.Request, &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(answer)})
		case *events.JobEnded:
			return d.Status == want
		}
		return false
	})
}

// judge checks that no finished call and no payment was repeated, and that calls in flight at a death were repeated at most
// once.
func (c *errand) judge(s *system, y *tally, died bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	repeated, wide := 0, 0
	if died {
		wide = max(1, c.wide)
	}
	paid, shown := y.shop.books()
	for _, counts := range []map[string]int{y.asked, shown} {
		for what, n := range counts {
			if repeated += n - 1; n > 2 {
				s.Errorf("made %d times: %.200s", n, what)
			}
		}
	}
	if repeated > wide {
		s.Errorf("%d calls were repeated, %d were in flight", repeated, wide)
	}
	for order, n := range paid {
		if n != 1 {
			s.Errorf("order %s was paid %d times", order, n)
		}
	}
	for key, n := range s.finished("j") {
		if n != 1 {
			s.Errorf("%s has %d results", key, n)
		}
	}
}

// replayed replays every conversation of a job from its journals: none differs from its report, and without a death none is
// incomplete.
func (s *system) replayed(job string, died bool) {
	x := musttest.Get(client.New(s.Bus).Archive().Export(s.Context(), job, time.Now()))(s)
	list, err := runner.ReplayAgents(x, "")
	if err != nil {
		s.Errorf("nothing to replay: %v", err)
	}
	for _, r := range list {
		if r.State == runner.ReplayDiverged || r.State != runner.ReplaySame && !died {
			s.Errorf("run %d of %s is %s in a replay, at record %d: %s\nrecorded %s\nreplayed %s", r.Run, r.SubJob, r.State, r.Seq, r.Reason, r.Recorded, r.Replayed)
		}
	}
}

// finished counts the results of each call in the journals of a job.
func (s *system) finished(job string) map[string]int {
	counts := map[string]int{}
	for _, n := range s.Folded(job).View().SubJobs {
		list, _, err := s.Bus.Journal(job, n.ID).Read(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range list {
			if e.Type == events.JournalResult && e.Reason == "" {
				counts[fmt.Sprintf("%s/%d/%s", n.ID, e.Run, e.Key)]++
			}
		}
	}
	return counts
}

// late resumes the paused runner when all is over: it may not do or publish anything any more.
func (c *errand) late(s *system, trap *trap, y *tally) {
	facts := func() []string {
		y.mu.Lock()
		defer y.mu.Unlock()
		paid, shown := y.shop.books()
		return []string{fmt.Sprint(y.asked), fmt.Sprint(paid), fmt.Sprint(shown), fmt.Sprint(s.outcome("j")), fmt.Sprint(s.repeats("j"))}
	}
	before := facts()
	trap.wake()
	<-time.After(time.Minute)
	if diff := gocmp.Diff(before, facts()); diff != "" {
		s.Errorf("a runner that woke late did harm (-before +after):\n%s", diff)
	}
}

// TestZeroTokensTwice kills the runner at every boundary of every reference job of agents: the end is the same, no finished
// call is repeated, and nothing is paid twice.
//
// proves F16
// proves C-weakness-issue-39-run
func TestZeroTokensTwice(t *testing.T) {
	all := errands()
	if len(all) < 20 {
		t.Fatalf("only %d reference jobs", len(all))
	}
	var mu sync.Mutex
	points, jobs := 0, 0
	t.Run("errands", func(t *testing.T) {
		for _, c := range all {
			t.Run(c.name, func(t *testing.T) {
				n := c.sweep(t)
				mu.Lock()
				defer mu.Unlock()
				points, jobs = points+n, jobs+1
			})
		}
	})
	t.Logf("%d reference jobs, %d points: no finished call repeated, no payment twice", jobs, points)
}

func (c *errand) sweep(t *testing.T) (points int) {
	calm := c.play(t, play{})
	for _, fault := range calm.faults {
		t.Fatalf("killed nowhere: %s", fault)
	}
	for k := 1; k <= len(calm.points); k++ {
		got := c.play(t, play{nth: k})
		if faults := got.against(calm); len(faults) > 0 {
			t.Fatalf("killed at boundary %d of %d (%v): %s", k, len(calm.points), got.points[len(got.points)-1:], faults)
		}
		if len(got.points) >= k {
			points++
		}
	}
	t.Logf("%d points: %s", points, calm.outcome)
	if points == 0 {
		t.Error("the sweep killed nothing")
	}
	return points
}

// TestZeroTokensTwiceFailsWithoutASafety switches off each safety in turn: a sweep that passes without a safety proves
// nothing.
func TestZeroTokensTwiceFailsWithoutASafety(t *testing.T) {
	var c *errand
	for _, e := range errands() {
		if e.name == "tools one after another" {
			c = &e
		}
	}
	list := []safety{{
		name: "journal", services: []string{runnerName}, victim: runnerName,
		change: func(f *frame) {
			if strings.HasPrefix(f.subject, journalSubjects) { // The result is stored in a form that no reader understands.
				f.body = bytes.ReplaceAll(f.body, []byte(`"type":"result"`), []byte(`"type":"nothing"`))
			}
		},
	}}
	for _, off := range safeties() {
		if off.name == "claim" || off.name == "fence" {
			list = append(list, off)
		}
	}
	for _, off := range list {
		t.Run(off.name, func(t *testing.T) {
			victims := off
			if off.name == "journal" {
				victims.victim = "" // The runner that dies has not stored it either.
			}
			calm := c.play(t, play{victim: runnerName})
			if unharmed := c.play(t, play{victim: runnerName, off: &victims}); len(unharmed.against(calm)) > 0 {
				t.Fatalf("without a death: %s", unharmed.faults)
			}
			for k := 1; k <= len(calm.points); k++ {
				got := c.play(t, play{victim: runnerName, nth: k, off: &victims, pause: off.pause})
				if faults := got.against(calm); len(faults) > 0 {
					t.Logf("seen at boundary %d of %d: %.300s", k, len(calm.points), faults[0])
					if with := c.play(t, play{victim: runnerName, nth: k, pause: off.pause}); len(with.against(calm)) > 0 {
						t.Errorf("it fails with the safety, too: %s", with.against(calm))
					}
					return
				}
			}
			t.Errorf("the sweep passes %d boundaries without %s", len(calm.points), off.name)
		})
	}
}
