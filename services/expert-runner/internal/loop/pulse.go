package loop

import (
	"context"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// pulse is the sign of life of one run: it tells subjob.started once, then renews the delivery with every beat and the claim
// whenever a third of its lease has passed. It costs a timer; a goroutine exists only while it beats, and stop waits for it.
type pulse struct {
	mu      sync.Mutex // Guards the fields below, and is held while it beats.
	run     *run
	timer   *time.Timer
	began   time.Time // When the run was claimed, or begun.
	renewed time.Time // When the claim was last made or renewed.
	told    bool
	stopped bool
	cancel  context.CancelFunc // Ends a beat under way.
}

func (p *pulse) start(r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.began, p.renewed = r, r.started, r.started
	ctx, cancel := context.WithCancel(r.ctx)
	p.cancel = cancel
	p.timer = time.AfterFunc(r.loop.StartedAfter, func() { p.fire(ctx) })
}

// stop ends the pulse, and a beat under way. It may be called more than once, and without start.
func (p *pulse) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	p.timer.Stop()
}

// now beats at once. The fields that it reads are written before the run is begun; one not begun has nothing to renew.
func (p *pulse) now() {
	if !p.mu.TryLock() {
		return // It is beating.
	}
	defer p.mu.Unlock()
	if p.timer != nil && !p.stopped {
		p.told, p.renewed = true, time.Time{}
		p.timer.Reset(0)
	}
}

// fire runs in the timer's goroutine.
func (p *pulse) fire(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || ctx.Err() != nil {
		return
	}
	r := p.run
	interval := min(r.Lease.Std(), r.loop.AckWait) / 3
	if !p.told {
		p.told = true
		r.state(events.KindSubJobStarted, &events.SubJobStarted{Owner: r.loop.Owner, Started: p.began.UTC()})
		p.timer.Reset(max(interval-r.loop.StartedAfter, time.Millisecond))
		return
	}
	r.loop.settle(r.delivery, Answer{Verb: Progress})
	// A claim that would be due before the next beat is renewed with this one.
	if r.hold != nil && time.Since(p.renewed) > r.Lease.Std()/3-interval/2 {
		p.renewed = time.Now()
		_ = r.hold.renew(ctx) // What it means for the run is in the run's context.
	}
	p.timer.Reset(interval)
}
