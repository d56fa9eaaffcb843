package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Dispatcher issues work to experts on the ordinary work streams.
type Dispatcher struct{ Bus *bus.Bus }

// Issue implements loop.Dispatcher.
func (d Dispatcher) Issue(ctx context.Context, m events.Message, report string) error {
	_, err := d.Bus.Streams().LastOn(ctx, d.Bus.Names().Log, report)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	_, err = d.Bus.Publish(ctx, m, bus.ExpectNone())
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// Report implements loop.Dispatcher.
func (d Dispatcher) Report(ctx context.Context, subject string) (*events.SubJobReported, error) {
	sub, err := d.Bus.Log().Follow(ctx, subject, bus.FollowOptions{Buffer: 1})
	if err != nil {
		return nil, err
	}
	defer sub.Stop()
	for {
		list, err := sub.Next(ctx, 1)
		if err != nil {
			return nil, err
		}
		if e, ok := list[0].Event(); ok {
			return e.Report(), nil
		}
	}
}

// Close implements loop.Dispatcher. It fences the journal first; from then on the run cannot be claimed.
func (d Dispatcher) Close(ctx context.Context, w *events.Work, reason string) error {
	names, journal := d.Bus.Names(), d.Bus.Journal(w.Job, w.SubJob)
	in := []lease.One{journal}
	if _, _, pool, _ := names.ParseJournal(w.ClaimSubject); pool != "" {
		in = append(in, journal.In(pool))
	}
	if _, _, err := lease.Close(ctx, w.Run, reason, in...); err != nil {
		return err
	}
	if err := d.Bus.Streams().Purge(ctx, names.Work, names.WorkFor("*", "*", w.Job, w.SubJob, w.Run)); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"run": w.Run, "reason": reason})
	if err != nil {
		return fmt.Errorf("encode cancel: %w", err)
	}
	return d.Bus.PublishCore(names.Cancel(w.Job, w.SubJob), nil, body)
}
