package loop

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Partition owns the jobs of some shards. Make one with New, call Run once.
type Partition struct {
	Settings
	Ports
	jobs   map[string]*job
	ledger ledger
	ended  ended
	facts  *facts
	// last is the consumer's sequence of the last delivery; 0 before the first. seen is the last event of all that were delivered.
	last, seen uint64
	// stuck is how many of the waiting jobs are left until their retry, as the last sweep found them.
	stuck int
	// now is when the turn began.
	now time.Time
	// touched are the jobs to look at in this turn; waiting those with a save, a retry or receipts left behind a turn.
	touched []*job
	waiting map[*job]struct{}
	// sweep is when waiting is looked through next.
	sweep time.Time
	// saved brings the results of saves, of which saving are under way.
	saved  chan saveResult
	saving int
	// saveTook is how long a save takes of late.
	saveTook time.Duration
	// landed brings the rounds whose commands are answered, of which flights are under way.
	landed  chan *flight
	flights int
	// loaded brings states that were read, of which loading are under way; toLoad are the jobs whose turn to be read comes.
	loaded  chan loaded
	loading int
	toLoad  []*job
	// line holds the jobs whose save is due and has not begun.
	line []*job
	// measured brings readings of pools' queues, of which measuring are under way.
	measured  chan reading
	measuring int
	// lanes are the queues of pools, of which gate lets through what gated, the job that is asked, may have.
	lanes map[string]*lane
	gate  func(pool string) bool
	gated *job
	// refused is true when the gate has kept something back in this turn.
	refused bool
	// sheet is the work being written, and handed the results in it: one at a time, over and over.
	sheet  events.Work
	handed map[string]events.Result
	// packer fills batches, for experts whose paces say so.
	packer packer
	paces  paces
}

// New makes a partition.
func New(s Settings, p Ports) *Partition {
	made := &Partition{
		Settings: s, Ports: p,
		jobs: map[string]*job{}, facts: newFacts(s.CacheBytes), lanes: map[string]*lane{},
		waiting: map[*job]struct{}{}, handed: map[string]events.Result{}, saved: make(chan saveResult, s.Parallel),
		landed: make(chan *flight, 2*mostFlights), measured: make(chan reading),
		loaded: make(chan loaded, mostLoads), paces: paces{},
	}
	made.packer = packer{names: s.Names, open: map[address]*bundle{}, publish: made.publishAs}
	made.gate = made.admits
	return made
}

// Run works until the context ends or the feed is closed; then it saves what is unsaved and acknowledges it. It returns
// nil then, and the hook's error when the hook ended it.
func (p *Partition) Run(ctx context.Context, feed <-chan Batch) error {
	work, stop := p.outlast(ctx)
	defer p.awaitAll()
	defer stop()
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for {
		wake.Reset(p.idle())
		fetch := feed
		if p.flights >= mostFlights {
			fetch = nil
		}
		var err error
		select {
		case <-ctx.Done():
			return p.drain(work)
		case batch, ok := <-fetch:
			if !ok {
				return p.drain(work)
			}
			err = p.take(work, batch)
		case f := <-p.landed:
			err = p.proceed(work, f)
		case r := <-p.saved:
			err = p.finishSave(work, r)
		case r := <-p.measured:
			err = p.measures(work, r)
		case l := <-p.loaded:
			err = p.finishLoad(work, l)
		case <-wake.C:
			err = p.take(work, Batch{})
		}
		if err != nil {
			return err
		}
	}
}

// Replay takes one batch and waits for all that it leads to: a step by itself, for dry runs.
func (p *Partition) Replay(ctx context.Context, batch Batch) error {
	err := p.take(ctx, batch)
	for err == nil && p.underWay() {
		select {
		case f := <-p.landed:
			err = p.proceed(ctx, f)
		case r := <-p.saved:
			err = p.finishSave(ctx, r)
		case r := <-p.measured:
			err = p.measures(ctx, r)
		case l := <-p.loaded:
			err = p.finishLoad(ctx, l)
		}
	}
	return err
}

// underWay reports whether answers are still to come.
func (p *Partition) underWay() bool { return p.saving+p.flights+p.measuring+p.loading > 0 }

// awaitAll waits for the goroutines of rounds and saves; their results no longer matter.
func (p *Partition) awaitAll() {
	for p.underWay() {
		select {
		case <-p.landed:
			p.flights--
		case <-p.saved:
			p.saving--
		case <-p.measured:
			p.measuring--
		case <-p.loaded:
			p.loading--
		}
	}
}

// proceed lands a round and takes its jobs further. A job for which something has come by every landing would be under way
// again, and never saved: one that ought to be is, before its news.
func (p *Partition) proceed(ctx context.Context, f *flight) error {
	if err := p.land(ctx, f); err != nil {
		return err
	}
	if slices.ContainsFunc(f.jobs, p.pressed) {
		if err := p.publish(ctx); err != nil {
			return err
		}
		if err := p.save(ctx); err != nil {
			return err
		}
	}
	return p.take(ctx, Batch{})
}

// pressed reports whether a job with news ought to be saved first.
func (p *Partition) pressed(j *job) bool {
	return len(j.news) > 0 && p.saveable(j) && (p.due(j) || p.ledger.open >= p.MaxOpen)
}

// outlast gives a context that ends a while after ctx: a step under way is finished, but not for ever.
func (p *Partition) outlast(ctx context.Context) (work context.Context, stop func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := context.AfterFunc(ctx, func() {
		bound := time.NewTimer(p.SaveLatest)
		defer bound.Stop()
		select {
		case <-bound.C:
		case <-work.Done():
		}
		cancel()
	})
	return work, func() { late(); cancel() }
}

// idle is how long nothing will be due.
func (p *Partition) idle() time.Duration {
	idle := time.Hour
	if len(p.waiting) > 0 {
		idle = time.Until(p.sweep)
	}
	if at, ok := p.nextReading(); ok {
		idle = min(idle, time.Until(at))
	}
	return max(0, idle)
}

// take is one step: admit a batch, apply it, publish what is owed, begin the saves that are due, acknowledge.
func (p *Partition) take(ctx context.Context, batch Batch) error {
	p.now = time.Now()
	if err := p.admit(batch); err != nil {
		return err
	}
	if err := p.advance(ctx); err != nil {
		return err
	}
	if err := p.publish(ctx); err != nil {
		return err
	}
	if err := p.save(ctx); err != nil {
		return err
	}
	p.rest()
	p.measure(ctx)
	if p.Load != nil {
		p.Load.Set(max(0, len(p.waiting)-p.stuck), p.seen)
	}
	return p.acknowledge()
}

// rest ends the turn for the touched jobs: those with something left are put where the sweep looks.
func (p *Partition) rest() {
	for _, j := range p.touched {
		j.queued = false
		p.cover(j)
		if j.busy() {
			p.await(j)
		}
		p.dismiss(j)
	}
	clear(p.touched)
	p.touched = p.touched[:0]
	p.evict()
}

func (p *Partition) await(j *job) {
	if len(p.waiting) == 0 {
		p.sweep = p.now.Add(p.SaveAfter / 4)
	}
	p.waiting[j] = struct{}{}
	if j.owing && !j.flying && !j.loading && j.retryAt.Before(p.sweep) { // One under way is looked at when it lands, however long that takes.
		p.sweep = j.retryAt
	}
}

// acknowledge tells the consumer what is covered.
func (p *Partition) acknowledge() error {
	if err := p.ledger.tell(p.now); err != nil {
		p.Logger.Warn("the consumer was not told what is in progress", "error", err)
	}
	if !p.ledger.ready() {
		return nil
	}
	if err := p.at(AtAck); err != nil {
		return err
	}
	if err := p.ledger.settle(); err != nil {
		p.Logger.Warn("deliveries were not acknowledged and will come again", "error", err)
	}
	return p.at(AtAcked)
}

// drain lets what is under way land, saves everything and acknowledges it, within a bound.
func (p *Partition) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.SaveLatest)
	defer cancel()
	p.now = time.Now()
	for {
		if err := p.saveAll(ctx); err != nil {
			return err
		}
		if !p.underWay() {
			return p.acknowledge()
		}
		var err error
		select {
		case <-ctx.Done():
			return p.acknowledge()
		case f := <-p.landed:
			err = p.proceed(ctx, f)
		case r := <-p.saved:
			err = p.finishSave(ctx, r)
		case <-p.measured:
			p.measuring--
		case <-p.loaded:
			p.loading-- // Its deliveries are not acknowledged, and come again.
		}
		if err != nil {
			return err
		}
	}
}

// errCrash carries what the hook returned through the containment of faults of single jobs.
type errCrash struct{ error }

func (e errCrash) Unwrap() error { return e.error }

func crashed(err error) bool {
	if err == nil {
		return false // What is looked for below is allocated.
	}
	var crash errCrash
	return errors.As(err, &crash)
}

// at calls the hook.
func (p *Partition) at(point Point) error {
	if p.Hook == nil {
		return nil
	}
	if err := p.Hook(point); err != nil {
		return errCrash{err}
	}
	return nil
}
