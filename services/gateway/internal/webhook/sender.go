package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// atOnce is how many notices of one target are sent at the same time.
	atOnce = 8
	// reopenAfter is the pause before a reader of events is opened again, and busPause that after a failure of the bus.
	reopenAfter = time.Second
	busPause    = 5 * time.Second
	// longestDelay is the longest time between two attempts.
	longestDelay = 10 * time.Hour
)

// delays are the times between the attempts, more than a day in total; after the last one the notice becomes a dead letter.
var delays = [...]time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, longestDelay, longestDelay,
}

// Outcome is the result of an attempt.
type Outcome string

// The outcomes of an attempt.
const (
	Sent   Outcome = "sent"   // The target has accepted it.
	Failed Outcome = "failed" // It will be tried again.
	Dead   Outcome = "dead"   // It became a dead letter.
)

// Settings configure Run.
type Settings struct {
	// Bus is the bus to read events from.
	Bus *bus.Bus
	// Targets are the receivers.
	Targets []Target
	// Agent is the name in the header User-Agent.
	Agent string
	// Transport replaces the guarded connections; nil uses them.
	Transport http.RoundTripper
	// Log gets failures; Told is called for each attempt.
	Log  *slog.Logger
	Told func(target string, o Outcome, err error)
}

// sender sends the notices of all targets of one Run.
type sender struct {
	Settings
	posters map[string]*poster
}

// Run sends notices until ctx ends and the running attempts are over. Errors: an invalid target.
func Run(ctx context.Context, s Settings) error {
	d := &sender{Settings: s, posters: map[string]*poster{}}
	var readers sync.WaitGroup
	for i := range s.Targets {
		p, err := newPoster(&s.Targets[i], s.Agent, s.Transport)
		if err != nil {
			return err
		}
		defer p.client.CloseIdleConnections()
		d.posters[p.target.Name] = p
	}
	defer readers.Wait()
	for name, p := range d.posters { // any order: each has its own reader, which ends with ctx.
		open := func(ctx context.Context) (*bus.Subscription, error) { return s.Bus.Webhooks().Follow(ctx, name) }
		readers.Go(func() { d.serve(ctx, name, open, func(ctx context.Context, v *bus.Delivery) { d.event(ctx, p, v) }) })
	}
	readers.Go(func() { d.serve(ctx, "again", s.Bus.Webhooks().Again, d.again) })
	return nil
}

// serve handles the deliveries of a reader, a few at a time, and opens the reader again when it ends.
func (d *sender) serve(ctx context.Context, name string, open func(context.Context) (*bus.Subscription, error), handle func(context.Context, *bus.Delivery)) {
	for ctx.Err() == nil {
		sub, err := open(ctx)
		if err == nil {
			err = d.consume(ctx, sub, handle)
			sub.Stop()
		}
		if ctx.Err() != nil {
			return
		}
		d.Log.Warn("reader of webhooks ended", "webhook", name, "error", err)
		select {
		case <-time.After(reopenAfter):
		case <-ctx.Done():
		}
	}
}

// consume handles deliveries until the reader or ctx ends, and waits for the attempts that it has begun.
func (d *sender) consume(ctx context.Context, sub *bus.Subscription, handle func(context.Context, *bus.Delivery)) error {
	var work sync.WaitGroup // Each goroutine ends with its attempt, whose time is limited.
	defer work.Wait()
	slots := make(chan struct{}, atOnce)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		list, err := sub.Next(ctx, 1)
		if err != nil {
			return err
		}
		work.Go(func() {
			defer func() { <-slots }()
			handle(context.WithoutCancel(ctx), &list[0])
		})
	}
}

// event sends a target a notice about an event of the log, if it wants one.
func (d *sender) event(ctx context.Context, p *poster, v *bus.Delivery) {
	e, ok := v.Event()
	if !ok || e.Fault != nil {
		d.settle(v.Ack())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, Stop)
	defer cancel()
	first, err := d.Bus.Log().LastOf(ctx, e.Job, events.KindJobRequested)
	if err != nil {
		d.settle(v.Nak(busPause))
		return
	}
	var request *events.Request
	if data, ok := first.Data.(*events.JobRequested); ok {
		request = &data.Request
	}
	if n, ok := noticeOf(p.target, &e, request); ok {
		d.send(ctx, p, n, v)
		return
	}
	d.settle(v.Ack())
}

// again sends a notice that was queued again. One for a target of another gateway goes back to the queue.
func (d *sender) again(ctx context.Context, v *bus.Delivery) {
	n, ok := d.Bus.Webhooks().Notice(v)
	if !ok {
		d.settle(v.Term("it is no notice"))
		return
	}
	if p := d.posters[n.Target]; p != nil {
		d.send(ctx, p, n, v)
		return
	}
	d.settle(v.Nak(busPause))
}

// send makes an attempt and settles the delivery according to the result.
func (d *sender) send(ctx context.Context, p *poster, n bus.Notice, v *bus.Delivery) {
	err := p.post(ctx, n)
	if err == nil {
		d.Told(n.Target, Sent, nil)
		d.settle(v.Ack())
		return
	}
	var r *refusal
	refused := errors.As(err, &r)
	if tries := v.Delivered(); tries <= len(delays) && (!refused || !r.gone) {
		wait := delays[max(tries, 1)-1]
		wait += time.Duration(rand.Int64N(int64(wait / 10))) // So that they are not all sent at once.
		if refused {
			wait = max(wait, r.after)
		}
		d.Log.Warn("webhook failed and is tried again", "webhook", n.Target, "id", n.ID, "attempt", tries, "after", wait.Round(time.Second), "error", err)
		d.Told(n.Target, Failed, err)
		d.settle(v.Nak(wait))
		return
	}
	d.Log.Error("webhook is set aside", "webhook", n.Target, "id", n.ID, "attempts", v.Delivered(), "error", err, "next", "jobgraph dlq ls")
	d.Told(n.Target, Dead, err)
	aside, cancel := context.WithTimeout(context.WithoutCancel(ctx), busPause)
	defer cancel()
	if err := d.Bus.Webhooks().SetAside(aside, n, err.Error()); err != nil {
		d.Log.Error("webhook cannot be set aside yet", "webhook", n.Target, "id", n.ID, "error", err)
		d.settle(v.Nak(delays[0]))
		return
	}
	d.settle(v.Ack())
}

// settle logs a settlement that did not reach the bus: then the event is delivered again.
func (d *sender) settle(err error) {
	if err != nil {
		d.Log.Warn("cannot settle a webhook: it comes again", "error", err)
	}
}
