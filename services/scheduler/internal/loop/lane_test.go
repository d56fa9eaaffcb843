package loop

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// market is a test world of many jobs: published work waits in a queue per pool until a worker takes it. Time is counted in runs.
type market struct {
	*fake
	mu      sync.Mutex // Guards states and timers.
	t       rapid.TB
	p       *Partition
	seq     uint64
	queues  map[string][]string // Work subjects by pool.
	taken   []string            // "<job>/<subjob>" in the order in which work was taken.
	at      map[string]int      // The position of each in taken.
	owed    map[string]bool     // Steps that were accepted and not yet taken.
	timers  map[string]bool     // Jobs with an armed turn timer.
	acked   map[uint64]bool     // Events that were acknowledged.
	batch   []Delivery
	longest int
}

func newMarket(t rapid.TB, window int) *market {
	m := &market{fake: newFake(), t: t, queues: map[string][]string{}, at: map[string]int{}, owed: map[string]bool{}, timers: map[string]bool{}, acked: map[uint64]bool{}}
	m.begin(window)
	return m
}

// Load and Save may be called from several goroutines.
func (m *market) Load(ctx context.Context, job string) (Saved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fake.Load(ctx, job)
}

// Save stores a state.
func (m *market) Save(ctx context.Context, job string, s Saved, fault *events.Fault) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fake.Save(ctx, job, s, fault)
}

// begin starts a scheduler, the first one or one after a crash: it knows nothing, and everything unacknowledged is delivered again.
func (m *market) begin(window int) {
	s := strict(m.t, slog.New(slog.DiscardHandler))
	s.Window = window
	m.p, m.seq = New(s, Ports{Publisher: m, Log: m.fake, Sweeper: m.fake, States: m, Journals: m.fake, Alarms: m, Blobs: m.fake, Meter: m.fake}), 0
	m.batch = nil
	for i := range m.log {
		if !m.acked[m.log[i].Seq] {
			m.deliver(m.log[i], false)
		}
	}
}

// deliver hands an event out with the next turn.
func (m *market) deliver(e events.Event, first bool) {
	m.seq++
	m.batch = append(m.batch, Delivery{Event: e, ConsumerSeq: m.seq, First: first, Acker: acks{m, e.Seq}})
}

// acks records that an event was acknowledged.
type acks struct {
	*market
	seq uint64
}

func (a acks) Ack() error { a.acked[a.seq] = true; return nil }

// Publish stores work in the queue of its pool, once per subject.
func (m *market) Publish(msg events.Message, e Expect) Ack {
	if parts := strings.Split(msg.Subject, "."); parts[1] == "work" {
		if m.said(msg.Subject) {
			return outcome{store.ErrConflict}
		}
		m.queues[parts[2]] = append(m.queues[parts[2]], msg.Subject)
		m.longest = max(m.longest, len(m.queues[parts[2]]))
	}
	return m.fake.Publish(msg, e)
}

// Arm records that a job has an armed timer.
func (m *market) Arm(_ context.Context, job, timer string, _ time.Time) Ack {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timers[job] = m.timers[job] || strings.HasPrefix(timer, "turn~")
	return outcome{}
}

// event stores an event and delivers it with the next turn.
func (m *market) event(job string, kind events.Kind, subjob string, run int, data any) {
	e := events.Event{Kind: kind, Job: job, SubJob: subjob, Run: run, ID: "e", Seq: uint64(len(m.log) + 1), Time: time.Unix(int64(len(m.log)), 0), Data: data}
	m.log = append(m.log, e)
	m.deliver(e, true)
}

// submit submits a job with a number of independent steps.
func (m *market) submit(job, session string, priority, steps int) {
	m.request(job, session, priority, steps, false)
}

// request submits a job whose steps are independent, or depend on each other in a chain.
func (m *market) request(job, session string, priority, steps int, chain bool) {
	m.event(job, events.KindJobRequested, "", 0, &events.JobRequested{
		Request: events.Request{ID: job, Goal: "g", Session: session, Priority: priority},
		Rules:   events.Rules{Version: 1, MaxSteps: 20_000, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast, Deadline: events.Duration(24 * time.Hour)},
	})
	plan := &events.Plan{}
	for i := range steps {
		id := "s" + strconv.Itoa(i)
		step := events.SubJob{ID: id, Goal: id, Expert: "x", Pool: "default", Pure: true}
		if chain && i > 0 {
			step.Dependencies = []string{"s" + strconv.Itoa(i-1)}
		}
		plan.SubJobs = append(plan.SubJobs, step)
		m.owed[job+"/"+id] = true
	}
	m.event(job, events.KindGraphCreated, events.PlanID, 1, &events.GraphCreated{Plan: plan})
}

// turn lets the scheduler process what has happened.
func (m *market) turn() {
	batch := Batch{Deliveries: m.batch}
	m.batch = nil
	musttest.Do(m.t, m.p.Replay(context.Background(), batch))
}

// work takes the first item of a pool's queue and reports its run; false if the queue is empty.
func (m *market) work(pool string) bool {
	if len(m.queues[pool]) == 0 {
		return false
	}
	parts := strings.Split(m.queues[pool][0], ".")
	m.queues[pool] = m.queues[pool][1:]
	job, subjob := parts[4], parts[5]
	run, _ := strconv.Atoi(parts[6]) // Our own subject.
	key := job + "/" + subjob
	m.at[key] = len(m.taken)
	m.taken = append(m.taken, key)
	delete(m.owed, key)
	m.event(job, events.KindSubJobReported, subjob, run, success)
	return true
}

func TestAFloodOfOneSessionDoesNotStarveAnother(t *testing.T) {
	const window, few = 64, 20
	flood, jobs := 10_000, 300
	if testing.Short() {
		flood, jobs = 2000, 100
	}
	for name, submit := range map[string]func(m *market){
		"of one job":   func(m *market) { m.submit("flood", "greedy", 0, flood) },
		"of many jobs": func(m *market) { floodOf(m, "greedy", jobs, 10) },
		"of chains": func(m *market) {
			for i := range jobs {
				m.request("flood"+strconv.Itoa(i), "greedy", 0, 10, true)
			}
		},
		"without names": func(m *market) { floodOf(m, "", jobs, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, window)
			submit(m)
			accepted := len(m.owed)
			m.turn()
			for range 500 { // It has worked for a while.
				m.work("default")
				m.turn()
			}
			arrival := len(m.taken)
			m.submit("modest", "patient", 0, few)
			for len(m.owed) > 0 {
				m.turn()
				if !m.work("default") {
					t.Fatalf("nothing to do, %d steps are owed", len(m.owed))
				}
			}
			// Before its nth step are what stood in the queue when it came, and as many turns of the other session.
			for n := range few {
				if at := m.at["modest/s"+strconv.Itoa(n)]; at > arrival+window+2*(n+1) {
					t.Errorf("step %d of the other session came after %d of the flood", n, at-arrival-n)
				}
			}
			if m.longest > window {
				t.Errorf("%d runs stood in the queue, at most %d may", m.longest, window)
			}
			if len(m.taken) != accepted+few {
				t.Errorf("%d steps ran, want %d", len(m.taken), accepted+few)
			}
		})
	}
}

func floodOf(m *market, session string, jobs, steps int) {
	for i := range jobs {
		m.submit("flood"+strconv.Itoa(i), session, 0, steps)
	}
}

func TestTheQueueOfAPoolHoldsWhatItTakesInAboutASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarket(t, 8192)
		m.submit("flood", "greedy", 0, 10_000)
		m.turn()
		taken := func(n int) int {
			for range n {
				m.work("default")
			}
			m.turn()
			return len(m.queues["default"])
		}
		for i, want := range []int{256, 256, 512, 512, 512, 512, 512, 1024} { // By the 3rd and by the 8th turn half of it was taken at once.
			if got := taken(60); got != want {
				t.Errorf("%d runs stand in the queue after %d turns, want %d", got, i+1, want)
			}
		}
		<-time.After(2 * time.Second)
		if got := taken(200); got != 1024-200 {
			t.Errorf("%d runs stand in the queue after a slow turn", got)
		}
		if got := taken(1024 - 200); got != 200 {
			t.Errorf("%d runs stand in the queue of a pool that took 100 in a second", got)
		}
	})
}

func TestAHigherPriorityGoesFirst(t *testing.T) {
	const window = 8
	m := newMarket(t, window)
	m.submit("low", "a", -1, 100)
	m.submit("usual", "b", 0, 100)
	m.turn()
	m.submit("high", "a", 5, 50)
	m.submit("higher", "c", 9, 50)
	for len(m.owed) > 0 {
		m.turn()
		m.work("default")
	}
	last := func(job string, steps int) (at int) {
		for i := range steps {
			at = max(at, m.at[fmt.Sprintf("%s/s%d", job, i)])
		}
		return at
	}
	if got := last("higher", 50); got >= 50+window {
		t.Errorf("the highest priority ended at %d", got)
	}
	if got := last("high", 50); got >= 100+window {
		t.Errorf("the next one ended at %d", got)
	}
	if usual, low := last("usual", 100), last("low", 100); usual >= 200+window || usual > low {
		t.Errorf("the usual one ended at %d, the low one at %d", usual, low)
	}
}

// The server's clock may be ahead, or the machine have slept: nothing is left of the timer then, and only memory knows of the wait.
func TestAJobWhoseTurnTimerFiresEarlyComesBackBehindACrash(t *testing.T) {
	m := newMarket(t, 1)
	m.submit("first", "", 0, 1)
	m.submit("second", "", 0, 1)
	m.turn()
	m.wake()
	m.begin(1)
	m.wake()
	for range 2 {
		m.work("default")
		m.turn()
	}
	if len(m.owed) > 0 {
		t.Errorf("accepted and never published: %v", m.owed)
	}
}

// The end of a job removes all its timers, even one that memory has as armed.
func TestAJobThatIsStartedAgainIsRememberedAnew(t *testing.T) {
	m := newMarket(t, 1)
	m.submit("first", "", 0, 1)
	m.submit("second", "", 0, 1)
	m.turn()
	m.event("second", events.KindStopRequested, "", 0, &events.StopRequested{})
	m.turn()
	if m.timers["second"] {
		t.Fatal("a job that has ended has a timer")
	}
	m.event("second", events.KindRecoverRequested, "", 0, &events.RecoverRequested{})
	m.turn()
	recovery := m.log[len(m.log)-1].Seq
	if !m.timers["second"] && m.acked[recovery] {
		t.Error("a job that waits again has no timer, and what it waits for is acknowledged")
	}
}

// Whatever happens, the safety properties hold: the queue of a pool never grows beyond the window while one scheduler lives; every
// accepted step runs, even after crashes, and whenever timers fire.
func TestTurnsUnderAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.IntRange(1, 6).Draw(t, "window")
		m := newMarket(t, window)
		jobs, crashes := 0, 0
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			switch rapid.SampledFrom([]string{"submit", "submit", "work", "work", "work", "turn", "early", "crash"}).Draw(t, "action") {
			case "submit":
				jobs++
				session := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "session")
				m.request("j"+strconv.Itoa(jobs), session, rapid.IntRange(-1, 1).Draw(t, "priority"), rapid.IntRange(1, 12).Draw(t, "steps"), rapid.Bool().Draw(t, "chain"))
			case "work":
				m.work("default")
				m.turn()
			case "turn":
				m.turn()
			case "early":
				m.turn()
				m.wake()
			case "crash":
				m.turn()
				crashes++
				m.begin(window)
				m.wake()
			}
		}
		m.turn()
		for range 10_000 {
			if !m.work("default") && len(m.owed) > 0 {
				t.Fatalf("accepted and never published: %v", m.owed)
			}
			if len(m.owed) == 0 {
				break
			}
			m.turn()
		}
		if most := window * (1 + crashes); m.longest > most {
			t.Errorf("%d runs stood in the queue behind %d crashes, the window is %d", m.longest, crashes, window)
		}
	})
}

// Purge records that a job's timer is removed.
func (m *market) Purge(_ context.Context, job string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.timers, job)
	return nil
}

// wake fires the timers of all jobs that have one, as the broker does some time after a crash, or too soon.
func (m *market) wake() {
	for i := range m.log {
		job := m.log[i].Job
		if !m.timers[job] {
			continue
		}
		delete(m.timers, job)
		m.event(job, events.KindTimerFired, "", 0, &events.TimerFired{Timer: "turn~~0"})
	}
	m.turn()
}

// reluctant fails to arm timers for a while, and records for which time they are finally armed.
type reluctant struct {
	*fake
	failures int
	armed    []time.Time
}

func (r *reluctant) Arm(_ context.Context, _, _ string, at time.Time) Ack {
	if r.failures > 0 {
		r.failures--
		return outcome{errAway}
	}
	r.armed = append(r.armed, at)
	return outcome{}
}

// A timer that could not be armed is armed for the same wait: a bus that was away makes no job wait for minutes.
func TestTheWaitForATurnGrowsWithTimersAndNotWithAttemptsToArmOne(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	batch := Batch{Deliveries: []Delivery{{Event: requested, ConsumerSeq: 1, First: true, Acker: f}, {Event: created, ConsumerSeq: 2, First: true, Acker: f}}}
	musttest.Do(t, p.Replay(t.Context(), batch))
	alarms := &reluctant{fake: f, failures: 5}
	p.Alarms = alarms
	j := p.cache.jobs["j"]
	j.slots.claim, j.acks.open = slotless, nil
	var waits []time.Duration
	for range 8 {
		p.now = p.now.Add(time.Hour)
		before := len(alarms.armed)
		p.work.dirty = []*job{j}
		j.retry.clear()
		musttest.Do(t, p.reminders.arm(t.Context()))
		if len(alarms.armed) > before {
			waits = append(waits, alarms.armed[before].Sub(p.now))
		}
	}
	musttest.Equal(t, []time.Duration{firstTurn, 2 * firstTurn, 4 * firstTurn}, waits)
}
