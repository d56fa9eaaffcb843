package intake

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// door admits requests as fast as jobs make progress. Everything in it belongs to the goroutine of run.
type door struct {
	*Consumer
	hall hall
	// now and bytes are the number and size of requests in progress.
	now, bytes int
	settled    chan outcome
	// unseen are the sequences of admitted jobs that no scheduler has received yet, as far as is known.
	unseen []uint64
	// there is the broker's answer about the load, if this process has heard nothing since measured; asking is true during the
	// request.
	there    Motion
	asked    chan Motion
	asking   bool
	measured time.Time
	// closed says why nothing is admitted.
	closed string
	// toldHeld and toldMoving are the numbers of held requests and of active jobs that were last reported.
	toldHeld, toldMoving int
}

// outcome is a request that was settled.
type outcome struct {
	size   int
	stated uint64
}

const (
	// askAfter is how long the load may stay unchanged, with requests waiting, before the broker is asked.
	askAfter = 100 * time.Millisecond
	// idle is how long the loop sleeps when nothing is due.
	idle = time.Hour
)

// run works until ctx ends or reading has failed.
func (d *door) run(ctx, work context.Context, read <-chan []bus.Delivery, failed <-chan error) error {
	var changed <-chan struct{}
	if d.Load != nil {
		changed = d.Load.Changed()
	}
	wake := time.NewTimer(idle)
	defer wake.Stop()
	for {
		d.admit(ctx, work)
		d.tell()
		in := read
		if d.hall.full() {
			in = nil
		}
		wake.Reset(d.sleep())
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case list := <-in:
			for i := range list {
				d.hall.add(time.Now(), list[i])
			}
		case o := <-d.settled:
			d.settle(o)
		case <-changed:
			d.measured, d.there = time.Now(), Motion{}
		case d.there = <-d.asked:
			d.asking = false
		case <-wake.C:
		}
	}
}

// tell reports the number of held requests, if it has changed.
func (d *door) tell() {
	held, moving := len(d.hall.byKey), 0
	if d.Load != nil && held > 0 {
		moving = max(d.Load.Here().Jobs, d.there.Jobs)
	}
	if held != d.toldHeld || moving != d.toldMoving {
		d.toldHeld, d.toldMoving = held, moving
		d.Meter.Waiting(held, moving)
	}
}

// sleep is how long the loop may sleep if nothing arrives.
func (d *door) sleep() time.Duration {
	switch {
	case d.hall.empty():
		return idle
	case d.closed != "":
		return lookEvery
	}
	return askAfter
}

// admit admits as many requests as there is room for.
func (d *door) admit(ctx, work context.Context) {
	if d.hall.empty() {
		return
	}
	if err := d.hall.tell(time.Now()); err != nil {
		d.Logger.Warn("cannot report requests as in progress", "error", err)
	}
	most := mostHeld
	if !d.open(ctx) {
		if !d.Gate.Try() {
			return
		}
		most = 1
	}
	for room := min(d.room(), most); room > 0 && !d.hall.empty(); room-- {
		size := min(max(d.hall.head().size, leastBytes), bytesAtOnce)
		if d.bytes+size > bytesAtOnce {
			return // There will be room when a request in progress is settled.
		}
		r := d.hall.next()
		d.now++
		d.bytes += size
		go func() { d.settled <- outcome{size, d.take(work, &r.delivery)} }() // Received by run or by close.
	}
	if d.Load != nil && !d.hall.empty() && !d.asking && time.Since(d.measured) >= askAfter {
		d.ask(ctx)
	}
}

// ask starts a request to the broker for the load, without blocking.
func (d *door) ask(ctx context.Context) {
	d.asking, d.measured = true, time.Now()
	go func() { // Ends with the answer, for which the channel has room.
		m, err := d.Load.There(ctx)
		if err != nil {
			m = Motion{} // The load of this process counts.
		}
		d.asked <- m
	}()
}

// open checks whether the log has any room.
func (d *door) open(ctx context.Context) bool {
	reason := d.Gate.Closed(ctx)
	if reason != "" && d.closed == "" {
		d.Logger.Warn("no jobs can be admitted", "reason", reason)
	}
	d.closed = reason
	return reason == ""
}

// room returns how many more requests may be admitted.
func (d *door) room() int {
	if d.Load == nil || d.Most == 0 {
		return mostHeld
	}
	m := d.Load.Here()
	m.Jobs, m.Seen = max(m.Jobs, d.there.Jobs), max(m.Seen, d.there.Seen)
	kept := d.unseen[:0]
	for _, seq := range d.unseen {
		if seq > m.Seen {
			kept = append(kept, seq)
		}
	}
	d.unseen = kept
	return d.Most - m.Jobs - len(d.unseen) - d.now
}

func (d *door) settle(o outcome) {
	d.now--
	d.bytes -= o.size
	if o.stated > 0 && d.Load != nil && d.Most > 0 {
		d.unseen = append(d.unseen, o.stated)
	}
}

// close waits for requests in progress, and returns the held ones to the queue.
func (d *door) close() {
	for d.now > 0 {
		d.settle(<-d.settled)
	}
	if d.asking {
		<-d.asked
	}
	d.Queue.Stop()
	d.Meter.Waiting(0, 0)
	if err := d.hall.leave(); err != nil {
		d.Logger.Warn("cannot return waiting requests; they will be redelivered", "error", err)
	}
}
