package loop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/run/lease"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// storm is many jobs under many failures: published messages arrive late or never, answers get lost, reads fail, saves conflict,
// deliveries go to other readers, schedulers crash. Until the storm is over nothing is stored before the test says so, so each
// acknowledgement is made while everything it rests on can still be lost.
type storm struct {
	idle
	t      *rapid.T
	p      *Partition
	feed   chan Batch
	ended  chan error
	cancel context.CancelFunc
	seq    uint64  // Of the consumer.
	due    []Batch // Not yet taken.

	mu     sync.Mutex // Guards the world below: the partition has goroutines of its own.
	names  events.Names
	chance *rand.Rand
	calm   bool
	dead   bool // The scheduler has crashed, although some of its goroutines live.
	turns  int  // Since the test did something.
	log    []events.Event
	read   int // How much of the log was delivered.
	acked  map[uint64]bool
	last   map[string]uint64 // Where a subject ends.
	ids    map[string]bool
	air    []*flying
	saves  []*flying
	work   []string
	armed  map[string]map[string]time.Time
	states map[string]Saved
	keys   map[string]uint64 // Revisions.
	plans  map[string]*events.Plan
	wants  map[string][]graph.Run
	holds  map[string][]graph.Run
	called map[string]bool
	line   []string // Jobs that want slots.
	faults int
}

// flying is a message or a save under way.
type flying struct {
	m       events.Message
	expect  Expect
	job     string
	timer   string
	at      time.Time
	reached bool
	err     error
	given   chan error
}

// Wait returns the answer.
func (f *flying) Wait(ctx context.Context) (uint64, error) {
	select {
	case err := <-f.given:
		f.given <- err
		return 0, err
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", store.ErrUnknown, ctx.Err())
	}
}

func (f *flying) stream() string {
	if f.timer != "" {
		return "timers"
	}
	return strings.Split(f.m.Subject, ".")[1]
}

// fails is true now and then. It needs the lock.
func (w *storm) fails() bool { return w.dead || !w.calm && w.chance.IntN(8) == 0 }

// mostTurns is how many rounds the loop may take for one action of the test.
const mostTurns = 5000

var (
	errDied = errors.New("died")
	errSpin = errors.New("the loop turns without end")
)

// start starts a scheduler that knows nothing: everything it has not acknowledged is delivered again.
func (w *storm) start(window, parallel int) {
	s := Default(w.names, slog.New(slog.DiscardHandler))
	s.Illegal = func(err error) { w.t.Errorf("illegal move: %v", err) }
	s.Window, s.Parallel, s.SaveEvery = window, parallel, 4
	s.Hook = func(Point) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.turns++; w.turns > mostTurns {
			return errSpin
		}
		if w.dead {
			return errDied
		}
		return nil
	}
	w.mu.Lock()
	w.dead = false
	w.mu.Unlock()
	w.due, w.feed, w.ended = nil, make(chan Batch), make(chan error, 1)
	w.p = New(s, Ports{Publisher: w, Log: w, Sweeper: w, States: w, Journals: w, Alarms: w, Blobs: w, Meter: w, Slots: w})
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go func() { w.ended <- w.p.Run(ctx, w.feed) }()
	var again []Delivery
	for i := range w.log[:w.read] {
		if e := &w.log[i]; e.Job != "" && !w.acked[e.Seq] {
			again = append(again, w.delivery(e, false))
		}
	}
	w.due = append(w.due, Batch{Deliveries: again, Fresh: true})
	w.rest()
}

// rest waits until the scheduler has processed everything it accepts and is idle.
func (w *storm) rest() {
	w.mu.Lock()
	w.turns = 0
	w.mu.Unlock()
	for {
		synctest.Wait()
		select {
		case err := <-w.ended:
			w.ended <- err
			if !w.dead {
				w.t.Fatalf("the scheduler ended: %v", err)
			}
			return
		default:
		}
		if len(w.due) == 0 {
			return
		}
		select {
		case w.feed <- w.due[0]:
			w.due = w.due[1:]
		default:
			return // It waits for an answer.
		}
	}
}

// crash ends the scheduler immediately. What was in progress arrives or does not, in both cases without an answer.
func (w *storm) crash() {
	w.mu.Lock()
	w.dead = true
	for _, f := range slices.Concat(w.air, w.saves) {
		if w.chance.IntN(2) == 0 {
			w.reach(f)
		}
		w.answer(f, store.ErrUnknown)
	}
	w.mu.Unlock()
	w.cancel()
	for range mostTurns {
		<-time.After(time.Second)
		w.rest()
		select {
		case <-w.ended:
			return
		default:
		}
	}
	w.t.Fatal("the scheduler does not end")
}

// stop ends the scheduler in order; some of what is in progress never gets an answer.
func (w *storm) stop() {
	under := slices.Concat(w.air, w.saves)
	w.cancel()
	for _, f := range under {
		w.mu.Lock()
		if w.chance.IntN(2) == 0 {
			w.reach(f)
			w.answer(f, f.err)
		}
		w.mu.Unlock()
		synctest.Wait()
	}
	began := time.Now()
	if err := <-w.ended; err != nil {
		w.t.Fatalf("stopped with %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		w.t.Fatalf("stopping took %s", took)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead, w.air, w.saves = true, nil, nil
}

// delivery is an event on its way to the scheduler.
func (w *storm) delivery(e *events.Event, first bool) Delivery {
	w.seq++
	return Delivery{Event: *e, ConsumerSeq: w.seq, First: first, Acker: receiver{w, e.Seq}}
}

// receiver records an acknowledgement.
type receiver struct {
	w   *storm
	seq uint64
}

func (r receiver) Ack() error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if !r.w.dead {
		r.w.acked[r.seq] = true
	}
	return nil
}

func (r receiver) InProgress() error { return nil }

// reach makes a message or a save arrive, after the earlier messages to the same stream. The caller holds the lock.
func (w *storm) reach(f *flying) {
	if f.reached || f.expect.Subject == saving {
		f.save(w)
		return
	}
	for _, g := range w.air {
		if g.stream() == f.stream() && !g.reached {
			g.reached, g.err = true, w.store(g)
		}
		if g == f {
			return
		}
	}
}

// answer ends a message in progress. The caller holds the lock.
func (w *storm) answer(f *flying, err error) {
	is := func(g *flying) bool { return g == f }
	w.air, w.saves = slices.DeleteFunc(w.air, is), slices.DeleteFunc(w.saves, is)
	f.given <- err
}

// store does what the broker does with a message.
func (w *storm) store(f *flying) error {
	if f.timer != "" {
		if w.armed[f.job] == nil {
			w.armed[f.job] = map[string]time.Time{}
		}
		w.armed[f.job][f.timer] = f.at
		return nil
	}
	subject := f.m.Subject
	if f.expect.Subject != "" {
		subject = f.expect.Subject
	}
	id := f.m.Get(events.HeaderMsgID)
	switch {
	case id != "" && w.ids[id]:
		return nil
	case !f.expect.Any && w.last[subject] != f.expect.Last:
		return store.ErrConflict
	}
	w.ids[id] = true
	e, ok := events.Decode(w.names, f.m)
	if !ok {
		w.last[f.m.Subject] = 1
		w.work = append(w.work, f.m.Subject)
		return nil
	}
	w.state(e)
	return nil
}

// happen appends an event to the log that is not the scheduler's.
func (w *storm) happen(e events.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state(e)
}

// state appends to the log. It needs the lock.
func (w *storm) state(e events.Event) {
	e.Seq, e.Time = uint64(len(w.log)+1), time.Now()
	if e.ID == "" {
		e.ID = fmt.Sprintf("e%d", e.Seq)
	}
	w.log = append(w.log, e)
	w.last[subjectOf(w.names, &e)] = e.Seq
}

// fly puts something under way; in calm weather it is there at once.
func (w *storm) fly(f *flying) Ack {
	f.given = make(chan error, 1)
	if strings.Contains(f.m.Subject, "job.advanced") {
		f.given <- nil
		return f
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.dead:
		f.given <- errAway
	case w.calm:
		f.given <- w.store(f)
	default:
		w.air = append(w.air, f)
	}
	return f
}

func (w *storm) Publish(m events.Message, e Expect) Ack { return w.fly(&flying{m: m, expect: e}) }
func (w *storm) Count(f Family, _ string) {
	if f == Quarantined {
		w.faults++
	}
}

func (w *storm) Arm(_ context.Context, job, timer string, at time.Time) Ack {
	return w.fly(&flying{job: job, timer: timer, at: at})
}

// saving marks a save among the messages in progress.
const saving = "save"

func (f *flying) save(w *storm) {
	if f.reached {
		return
	}
	f.reached = true
	if w.keys[f.job] != f.expect.Last {
		f.err = store.ErrConflict
		return
	}
	w.keys[f.job]++
	w.states[f.job] = Saved{State: f.m.Body}
}

func (w *storm) Save(ctx context.Context, job string, s Saved, _ *events.Fault) (uint64, error) {
	f := &flying{job: job, m: events.Message{Body: s.State}, expect: Expect{Subject: saving, Last: s.Revision}, given: make(chan error, 1)}
	w.mu.Lock()
	switch {
	case w.dead:
		f.given <- errAway
	case w.calm:
		f.save(w)
		f.given <- f.err
	default:
		w.saves = append(w.saves, f)
	}
	w.mu.Unlock()
	_, err := f.Wait(ctx)
	return s.Revision + 1, err
}

func (w *storm) Load(_ context.Context, job string) (Saved, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails() {
		return Saved{}, errAway
	}
	return Saved{State: w.states[job].State, Revision: w.keys[job]}, nil
}

func (w *storm) EventsOf(_ context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, err := w.of(job, after), error(nil)
	if w.fails() {
		list, err = list[:len(list)/2], errAway
	}
	return func(yield func(events.Event, error) bool) {
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
		if err != nil {
			yield(events.Event{}, err)
		}
	}
}

// of returns the events of a job after a sequence.
func (w *storm) of(job string, after uint64) (list []events.Event) {
	for i := range w.log {
		if w.log[i].Job == job && w.log[i].Seq > after {
			list = append(list, w.log[i])
		}
	}
	return list
}

func (w *storm) EventAt(_ context.Context, seq uint64) (events.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.log[seq-1]; e.Job != "" {
		return e, nil
	}
	return events.Event{}, store.ErrNotFound
}

func (w *storm) EndOf(_ context.Context, job string) (end events.Event, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.of(job, 0) {
		if _, ok := e.Data.(*events.JobEnded); ok {
			end = e
		} else if d, _ := events.Define(e.Kind); d.Control {
			end = events.Event{}
		}
	}
	if w.fails() {
		return events.Event{}, errAway
	}
	return end, nil
}

func (w *storm) PurgeRest(_ context.Context, job string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.last[w.names.Event(job, events.KindJobRequested)]
	for i := range w.log {
		if next != 0 && w.log[i].Seq >= next {
			break
		}
		if e := &w.log[i]; e.Job == job {
			if subject := subjectOf(w.names, e); w.last[subject] == e.Seq {
				delete(w.last, subject)
			}
			*e = events.Event{}
		}
	}
	if _, left := w.states[job]; left && next == 0 {
		delete(w.states, job)
		w.keys[job]++
	}
	return nil
}

func (w *storm) PurgeWork(_ context.Context, subject string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, mine, _ := strings.Cut(subject, "*.*.")
	w.work = slices.DeleteFunc(w.work, func(s string) bool { return strings.HasSuffix(s, "."+mine) })
	return nil
}

func (w *storm) ReapJob(_ context.Context, job string, _ uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails() {
		return errAway
	}
	w.work = slices.DeleteFunc(w.work, func(s string) bool { return strings.Split(s, ".")[4] == job })
	for i := range w.log {
		if w.log[i].Job == job {
			w.log[i] = events.Event{}
		}
	}
	for subject := range w.last {
		if strings.Contains(subject, "."+job+".") {
			delete(w.last, subject)
		}
	}
	for id := range w.ids {
		if strings.HasPrefix(id, job+"/") {
			delete(w.ids, id)
		}
	}
	delete(w.armed, job)
	delete(w.states, job)
	w.keys[job]++
	return nil
}

func (w *storm) Journal(string, string, string) lease.One {
	return journal(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fails() {
			return errAway
		}
		return nil
	})
}

func (w *storm) Purge(_ context.Context, job string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails() {
		return errAway
	}
	delete(w.armed, job)
	return nil
}
