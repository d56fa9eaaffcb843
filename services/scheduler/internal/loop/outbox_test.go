package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// sender returns an outbox and a job that is ready to send its first work.
func sender(t *testing.T) (f *fake, p *Partition, j *job) {
	f = newFake()
	p = f.partition(t)
	requested, created := f.begin()
	f.fail[".j.a.1"] = errAway
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	delete(f.fail, ".j.a.1")
	j = p.cache.jobs["j"]
	if j.phase != ready || !j.retry.pending() {
		t.Fatalf("the job is %s, tried again %v", j.phase, j.retry.pending())
	}
	j.retry.clear()
	return f, p, j
}

// acked returns the batch that was answered.
func acked(p *Partition) *inFlightBatch {
	b := (<-p.beside.results).(*inFlightBatch)
	p.beside.done(b)
	return b
}

func TestAJobIsInFlightFromTheSendingToTheLastAck(t *testing.T) {
	f, p, j := sender(t)
	if err := p.outbox.send(t.Context(), []*job{j}); err != nil {
		t.Fatal(err)
	}
	if j.phase != inFlight || p.beside.underWay[batches] != 1 || !f.said(".j.a.1") {
		t.Fatalf("it is %s, %d batches are under way, said %q", j.phase, p.beside.underWay[batches], f.published)
	}
	if err := p.settle(t.Context(), acked(p)); err != nil {
		t.Fatal(err)
	}
	if j.phase != ready || p.beside.underWay[batches] != 0 || !j.changed || !j.dirty {
		t.Errorf("it is %s, %d batches are under way, looked at again %v", j.phase, p.beside.underWay[batches], j.dirty)
	}
}

func TestAStateThatIsDroppedInFlightIsNotToldWhatWasDelivered(t *testing.T) {
	_, p, j := sender(t)
	musttest.Do(t, p.outbox.send(t.Context(), []*job{j}))
	p.cache.drop(j)
	musttest.Do(t, p.settle(t.Context(), acked(p)))
	if j.phase != cold || j.state != nil || j.changed || !j.dirty {
		t.Errorf("it is %s, looked at again %v", j.phase, j.dirty)
	}
}

func TestAnOutcomeDecidesWhetherTheStateInMemoryIsStillGood(t *testing.T) {
	run := graph.CommandID{Kind: graph.RunSubJob, SubJob: "a", Run: 1}
	end := graph.CommandID{Kind: graph.EndJob}
	for name, test := range map[string]struct {
		id         graph.CommandID
		err        error
		fails      bool
		phase      phase
		distrusted bool
	}{
		"delivered":                       {run, nil, false, ready, false},
		"it is there already":             {run, store.ErrConflict, false, ready, false},
		"the end came too late":           {end, store.ErrConflict, true, cold, false},
		"unknown":                         {run, store.ErrUnknown, true, cold, false},
		"the bus is away":                 {run, errAway, true, ready, false},
		"the log does not have its end":   {graph.CommandID{Kind: graph.ReapJob}, errNoEnd, true, cold, true},
		"too large, and reported as such": {run, store.ErrTooLarge, false, ready, false},
	} {
		_, p, j := sender(t)
		err := p.outbox.settle(t.Context(), &pendingAck{job: j, cmd: &graph.Command{CommandID: test.id}, err: test.err})
		if (err != nil) != test.fails || j.phase != test.phase || (j.basis == distrusted) != test.distrusted {
			t.Errorf("%s: %v, it is %s, distrusted %v", name, err, j.phase, j.basis == distrusted)
		}
	}
}

func TestNothingIsFetchedWhileTooManyBatchesAreInFlight(t *testing.T) {
	_, p, _ := sender(t)
	for p.beside.underWay[batches] = range maxInFlight {
		if p.outbox.full() {
			t.Fatalf("full with %d", p.beside.underWay[batches])
		}
	}
	if p.beside.underWay[batches] = maxInFlight; !p.outbox.full() {
		t.Error("never full")
	}
}

func TestACrashAmongTheAnswersEndsThePartition(t *testing.T) {
	died := errors.New("died")
	b := &inFlightBatch{pending: []pendingAck{{err: errAway}, {ack: outcome{errCrash{died}}}}}
	b.wait(context.Background())
	if err := b.crashed(); !errors.Is(err, died) {
		t.Error(err)
	}
}

// tripping panics about one subject.
type tripping struct {
	*fake
	at string
}

func (x *tripping) Publish(m events.Message, expect Expect) Ack {
	if strings.Contains(m.Subject, x.at) {
		panic("tripped")
	}
	return x.fake.Publish(m, expect)
}

// The first command of the job was published by then. The job is not in flight for it: it is quarantined.
func TestAPanicAboutASecondCommandQuarantinesTheJobAndNothingElse(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.Publisher = &tripping{f, ".j.b.1"}
	open := 0
	p.Trace = func(string, string, ...string) (string, func(string, ...string)) {
		open++
		return "trace", func(string, ...string) { open-- }
	}
	requested, created := f.begin()
	created.Data.(*events.GraphCreated).Plan.SubJobs[1].Dependencies = nil
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	if j := p.cache.jobs["j"]; !f.said(".j.a.1") || j.phase != quarantined || !p.beside.idle() || open != 0 {
		t.Errorf("it is %s, under way %v, %d spans are open, said %q", j.phase, p.beside.underWay, open, f.published)
	}
}
