package recurring

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// Ends receives the ends of jobs until ctx ends, and publishes those of the runs of schedules.
func (k *Keeper) Ends(ctx context.Context, reader Reader) error {
	return each(ctx, reader, readAtOnce, func(d *bus.Delivery) { k.end(ctx, d) })
}

// each handles all deliveries of a reader until ctx ends; then it returns nil. Errors: the reader's.
func each(ctx context.Context, reader Reader, most int, handle func(*bus.Delivery)) error {
	for {
		list, err := reader.Next(ctx, most)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range list {
			handle(&list[i])
		}
	}
}

// retryEnd is the wait before an end that could not be published is delivered again; retryStarting is that before the end of a run
// that is about to start.
const (
	retryEnd      = time.Second
	retryStarting = 100 * time.Millisecond
)

func (k *Keeper) end(ctx context.Context, d *bus.Delivery) {
	e, _ := d.Event()
	ended, ok := e.Data.(*events.JobEnded)
	id, key, run := schedule.RunOf(e.Job)
	var err error
	status := schedule.RunStatus("")
	if ok && run && k.known(id) {
		status, err = k.standing(ctx, id, key)
	}
	if status == schedule.RunRunning {
		err = k.once(ctx, id, key, string(ended.Status), schedule.Fact{Kind: schedule.Ended, Trace: e.Trace, Data: recur.Outcome(ended)})
	}
	switch {
	case err != nil:
		k.Logger.Warn("cannot publish the end of a run; will retry", "job", e.Job, "error", err)
		err = d.Nak(retryEnd)
	case status == schedule.RunStarting: // The job may be another one that has the id: then the run is about to be refused.
		err = d.Nak(retryStarting)
	default:
		err = d.Ack()
	}
	if err != nil {
		k.Logger.Warn("cannot settle the end of a run; it will be redelivered", "job", e.Job, "error", err)
	}
}

// known reports whether a schedule exists, as far as is known; one that may exist does.
func (k *Keeper) known(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.whole || k.plans[id] != nil
}

// standing returns the status of a run after all facts published so far; "" if there is no such run. A run of a schedule that this
// version cannot handle counts as running: the version that handles it has started it.
func (k *Keeper) standing(ctx context.Context, id, key string) (schedule.RunStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	if err := k.await(ctx); err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.plans[id]
	if p == nil {
		return "", nil
	}
	if p.Blocked != "" {
		return schedule.RunRunning, nil
	}
	for i := range p.Recent {
		if p.Recent[i].Key == key {
			return p.Recent[i].Status, nil
		}
	}
	return "", nil
}

// awaitMost is how long ends and new jobs wait for facts.
const awaitMost = 2 * time.Second

// Exists reports whether there is a schedule, as far as is known after a moment: a bus that was set up before there were schedules
// has no facts to wait for.
func (k *Keeper) Exists(ctx context.Context, id string) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, awaitMost)
	defer cancel()
	if err := k.await(limited); err != nil && limited.Err() == nil {
		return false, err
	}
	return k.copy(id) != nil, ctx.Err()
}
