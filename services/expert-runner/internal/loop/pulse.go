package loop

import (
	"context"
	"sync"
	"sync/atomic"
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
	stopped atomic.Bool                        // No further beat begins.
	cancel  atomic.Pointer[context.CancelFunc] // Ends a beat under way.
}

func (p *pulse) start(r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.began, p.renewed = r, r.started, r.started
	p.timer = time.AfterFunc(r.loop.StartedAfter, p.fire)
}

// stop ends the pulse, and a beat under way. It may be called more than once, and without start.
func (p *pulse) stop() {
	p.stopped.Store(true)
	if cancel := p.cancel.Load(); cancel != nil {
		(*cancel)()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}

// now beats at once. The fields that it reads are written before the run is begun; one not begun has nothing to renew.
func (p *pulse) now() {
	if !p.mu.TryLock() {
		return // It is beating.
	}
	defer p.mu.Unlock()
	if p.timer != nil && !p.stopped.Load() {
		p.renewed = time.Time{}
		p.timer.Reset(0)
	}
}

// fire runs in the timer's goroutine.
func (p *pulse) fire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	p.cancel.Store(&cancel)
	if p.stopped.Load() || ctx.Err() != nil {
		return // stop came first, or finds what it has to cancel.
	}
	interval := min(r.Lease.Std(), r.loop.AckWait) / 3
	if !p.told && time.Since(p.began) >= r.loop.StartedAfter {
		p.told = true
		r.state(events.KindSubJobStarted, &events.SubJobStarted{Owner: r.loop.Owner, Started: p.began.UTC()})
		p.timer.Reset(max(interval-r.loop.StartedAfter, time.Millisecond))
		return
	}
	r.loop.settle(r.delivery, Answer{Verb: Progress})
	// A claim that would be due before the next beat is renewed with this one.
	if r.hold != nil && time.Since(p.renewed) > r.Lease.Std()/3-interval/2 {
		p.renewed = time.Now()
		_ = r.hold.Renew(ctx) // What it means for the run is in the run's context.
	}
	if r.hold == nil {
		r.lookout.renewed() // That this process lives is all there is to keep.
	}
	if !p.told {
		interval = max(r.loop.StartedAfter-time.Since(p.began), time.Millisecond) // A reconnect came before that.
	}
	p.timer.Reset(interval)
}
