package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// heartbeat is the sign of life of one run: it publishes subjob.started once, then sends in-progress with every beat and renews the
// claim after each third of its lease. Between two beats it needs only a timer; the goroutine of a beat ends with it, and stop waits
// for that.
type heartbeat struct {
	mu      sync.Mutex // Guards the fields below, and is held while it beats.
	run     *run
	timer   *time.Timer
	began   time.Time // When the run was claimed or begun.
	renewed time.Time // When the claim was last made or renewed.
	told    bool
	stopped atomic.Bool                        // No further beat begins.
	cancel  atomic.Pointer[context.CancelFunc] // Ends a beat under way.
}

func (p *heartbeat) start(r *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run, p.began, p.renewed = r, r.started, r.started
	p.timer = time.AfterFunc(r.loop.StartedAfter, p.fire)
}

// stop ends the heartbeat, and a beat under way. It may be called more than once, and without start.
func (p *heartbeat) stop() {
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

// now beats at once. A run that was not begun has nothing to renew.
func (p *heartbeat) now() {
	if !p.mu.TryLock() {
		return // A beat is in progress.
	}
	defer p.mu.Unlock()
	if p.timer != nil && !p.stopped.Load() {
		p.renewed = time.Time{}
		p.timer.Reset(0)
	}
}

// fire makes one beat, in the timer's goroutine, and sets the timer for the next one.
func (p *heartbeat) fire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.run
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	p.cancel.Store(&cancel)
	if p.stopped.Load() || ctx.Err() != nil {
		return // stop came first, or will cancel this beat.
	}
	interval := min(r.Lease.Std(), r.loop.AckWait) / 3
	if !p.told && time.Since(p.began) >= r.loop.StartedAfter {
		p.told = true
		r.state(events.KindSubJobStarted, &events.SubJobStarted{Owner: r.loop.Owner, Started: p.began.UTC()})
		p.timer.Reset(max(interval-r.loop.StartedAfter, time.Millisecond))
		return
	}
	r.loop.settled(r.delivery, r.delivery.Receipt.InProgress())
	// A claim that would be due before the next beat is renewed now.
	if r.hold != nil && time.Since(p.renewed) > r.Lease.Std()/3-interval/2 {
		p.renewed = time.Now()
		_ = r.hold.Renew(ctx) // Its outcome reaches the run through the run's context.
	}
	if r.hold == nil {
		r.leaseWatch.renewed() // A run without a claim lasts as long as this process lives.
	}
	if !p.told {
		interval = max(r.loop.StartedAfter-time.Since(p.began), time.Millisecond) // A reconnect came before that.
	}
	p.timer.Reset(interval)
}
