package loop

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// tower is a test world in which the answers to some messages are held back until the test releases them.
type tower struct {
	*fake
	mu sync.Mutex // Guards the world.
	// held maps parts of subjects to the channels that release their answers.
	held map[string]chan error
	feed chan Batch
	seq  uint64
	// saves holds saves back until it yields their results; nil lets them through.
	saves chan error
	// loads holds reads of states back until it is closed; nil lets them through.
	loads chan struct{}
	// turns counts the rounds of the loop.
	turns int
}

type answer chan error

func (a answer) Wait(ctx context.Context) (uint64, error) {
	select {
	case err := <-a:
		return 0, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (w *tower) Publish(m events.Message, e Expect) Ack {
	w.mu.Lock()
	defer w.mu.Unlock()
	for part, given := range w.held {
		if strings.Contains(m.Subject, part) {
			w.published = append(w.published, m.Subject)
			return answer(given)
		}
	}
	return w.fake.Publish(m, e)
}

func (w *tower) Save(ctx context.Context, job string, s Saved, fault *events.Fault) (uint64, error) {
	if w.saves != nil {
		if err := <-w.saves; err != nil {
			return 0, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fake.Save(ctx, job, s, fault)
}

func (w *tower) Load(ctx context.Context, job string) (Saved, error) {
	if w.loads != nil {
		<-w.loads
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fake.Load(ctx, job)
}

// pass lets time pass. The loop may then change what the test has already looked at.
func (w *tower) pass(d time.Duration) {
	w.mu.Lock()
	after := time.After(d)
	w.mu.Unlock()
	<-after
	synctest.Wait()
}

// saw counts the messages on subjects with a part.
func (w *tower) saw(part string) (n int) {
	synctest.Wait()
	for _, s := range w.published {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// tell delivers an event of a job.
func (w *tower) tell(job string, kind events.Kind, subjob string, run int, data any) {
	e := w.add(kind, subjob, run, data)
	e.Job = job
	w.log[e.Seq-1].Job = job
	w.seq++
	w.feed <- Batch{Deliveries: []Delivery{{Event: e, ConsumerSeq: w.seq, First: true, Acker: w}}}
	synctest.Wait()
}

// plan delivers the request of a job and its plan.
func (w *tower) plan(job string) {
	w.request(job)
	w.chain(job)
}

func (w *tower) request(job string) {
	w.tell(job, events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{ID: job, Goal: "g"},
		Rules:   events.Rules{Version: 1, MaxSteps: 9, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast},
	})
}

// chain delivers a plan of two steps, the second of which depends on the first.
func (w *tower) chain(job string) {
	step := func(id string, deps ...string) events.SubJob {
		return events.SubJob{ID: id, Goal: id, Expert: "x", Pool: "default", Dependencies: deps}
	}
	w.tell(job, events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: &events.Plan{SubJobs: []events.SubJob{step("a"), step("b", "a")}}})
}

// inTower runs a partition over a tower in virtual time; stop ends it, and waits for its end.
func inTower(t *testing.T, do func(w *tower, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &tower{fake: newFake(), held: map[string]chan error{}, feed: make(chan Batch)}
		s := strict(t, slog.New(slog.DiscardHandler))
		s.SaveEvery = 1
		s.Hook = func(at Point) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if at == AtStepped {
				w.turns++
			}
			if w.turns > 10_000 {
				return errSpin
			}
			return nil
		}
		p := New(s, Ports{Publisher: w, Log: w, Sweeper: w, States: w, Journals: w, Alarms: w, Blobs: w, Meter: w})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Run(ctx, w.feed) }()
		var once sync.Once
		stop := func() {
			once.Do(func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		}
		do(w, stop)
		stop()
	})
}

func TestCommandsUnderWayHoldBackTheirOwnJobAlone(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		w.held[".one.a.1"] = make(chan error)
		w.plan("one")
		acked := w.acked
		w.tell("one", events.KindSubJobReported, "a", 1, success) // The worker may be faster than the answer.
		if w.saw(".one.b.1") != 0 || w.acked != acked {
			t.Errorf("job one went on before its command was answered: %q, %d acknowledged", w.published, w.acked-acked)
		}
		w.plan("two")
		w.tell("two", events.KindSubJobReported, "a", 1, success)
		if w.saw(".two.b.1") != 1 || w.acked <= acked {
			t.Errorf("job two waits for job one: %q, %d acknowledged", w.published, w.acked-acked)
		}
		w.held[".one.a.1"] <- nil
		if w.saw(".one.b.1") != 1 {
			t.Errorf("job one does not go on: %q", w.published)
		}
		w.pass(time.Minute)
		if w.acked != int(w.seq) {
			t.Errorf("%d of %d deliveries acknowledged", w.acked, w.seq)
		}
	})
}

func TestACommandThatWasNotTakenIsTriedAgainAfterAWhile(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		given := make(chan error)
		w.held[".one.a.1"] = given
		w.plan("one")
		acked := w.acked
		given <- errAway
		if n := w.saw(".one.a.1"); n != 1 {
			t.Errorf("published %d times at once", n)
		}
		w.pass(150 * time.Millisecond)
		if n := w.saw(".one.a.1"); n != 2 || w.acked != acked {
			t.Errorf("published %d times after the first wait, want 2; %d acknowledged", n, w.acked-acked)
		}
		given <- nil
		w.pass(time.Minute)
		if w.acked != int(w.seq) {
			t.Errorf("%d of %d deliveries acknowledged", w.acked, w.seq)
		}
	})
}

func TestManyCommandsThatWereNotTakenAtOnceAreOneFailure(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		var steps []events.SubJob
		for i := range 9 {
			steps = append(steps, events.SubJob{ID: fmt.Sprintf("a%d", i), Goal: "g", Expert: "x", Pool: "default"})
		}
		w.fail[".one.a"] = errAway
		w.request("one")
		w.tell("one", events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: &events.Plan{SubJobs: steps}})
		w.mu.Lock()
		clear(w.fail)
		w.mu.Unlock()
		w.pass(150 * time.Millisecond)
		if n := w.saw(".one.a"); n != len(steps) {
			t.Errorf("%d of %d are published after the first wait", n, len(steps))
		}
	})
}

func TestAPartitionEndsAlthoughAnAnswerDoesNotCome(t *testing.T) {
	inTower(t, func(w *tower, stop func()) {
		w.held[".one.a.1"] = make(chan error)
		w.plan("one")
		acked, began := w.acked, time.Now()
		stop()
		if w.acked != acked || time.Since(began) > 3*time.Second {
			t.Errorf("ended after %s with %d acknowledgements more", time.Since(began), w.acked-acked)
		}
	})
}

func TestAJobForWhichSomethingComesWhileEachRoundIsUnderWayIsSaved(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		const pairs = 4
		w.request("one")
		var steps []events.SubJob
		for i := range pairs {
			a := events.SubJob{ID: fmt.Sprintf("a%d", i), Goal: "g", Expert: "x", Pool: "default"}
			b := events.SubJob{ID: fmt.Sprintf("b%d", i), Goal: "g", Expert: "x", Pool: "default", Dependencies: []string{a.ID}}
			steps = append(steps, a, b)
		}
		w.tell("one", events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: &events.Plan{SubJobs: steps}})
		acked := w.acked
		given := make(chan error)
		w.held[".one.b"] = given
		for i := range pairs {
			w.tell("one", events.KindSubJobReported, fmt.Sprintf("a%d", i), 1, success)
			if i > 0 {
				given <- nil
				synctest.Wait() // The next report belongs to the next round, not to the end of this one.
			}
		}
		if w.saw(".one.b") != pairs || w.acked < acked+pairs-1 {
			t.Errorf("published %q, %d acknowledged", w.published, w.acked-acked)
		}
		given <- nil
	})
}

// Whatever becomes of its state meanwhile, a job under way is looked at when it lands, and not again and again before.
func TestTheLoopDoesNotTurnForAJobUnderWay(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		w.saves = make(chan error)
		w.request("one")
		given := make(chan error)
		w.held[".one.a.1"] = given
		w.chain("one")
		w.saves <- store.ErrConflict
		turns := w.turns
		w.pass(time.Second)
		if w.turns-turns > 100 {
			t.Errorf("turned %d times in a second", w.turns-turns)
		}
		close(w.saves)
		given <- nil
	})
}

func TestWhatIsForgottenWhileItIsUnderWayIsReadAgain(t *testing.T) {
	inTower(t, func(w *tower, _ func()) {
		given := make(chan error)
		w.held[".one.a.1"] = given
		w.plan("one")
		w.add(events.KindSubJobReported, "a", 1, success) // Delivered to another scheduler, which died.
		w.log[len(w.log)-1].Job = "one"
		w.seq += 2 // A gap: the cache cannot be trusted.
		w.tell("two", events.KindSubJobProgressed, "a", 1, &events.SubJobProgressed{})
		if w.saw(".one.b.1") != 0 {
			t.Error("the job was read while its command was under way")
		}
		given <- nil
		if w.saw(".one.b.1") != 1 {
			t.Errorf("what another scheduler got is not seen: %q", w.published)
		}
	})
}
