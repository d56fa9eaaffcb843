package cli

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// listen returns live items of a job's experts from now on, for a display on a terminal; nil if the output is not one. stop ends
// it.
func (g views) listen(ctx context.Context, c *client.Client, job string) (talk *watch.Talk, stop func()) {
	if _, _, terminal := g.app.size(); !terminal || g.app.quiet || g.app.machine() || g.app.output == "name" {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	items, done := make(chan item.Item), make(chan struct{})
	go func() { // Ends with the job or with ctx, which stop cancels; stop waits for it.
		defer close(done)
		defer close(items)
		for !g.hear(ctx, c, job, items) {
			if lease.Pause(ctx, lookAgain) != nil {
				return
			}
		}
	}()
	return &watch.Talk{Items: items, Paint: g.app.paint()}, func() {
		cancel()
		<-done
	}
}

// hear passes live items on until there are no more; it returns false if the job is not in the log yet.
func (g views) hear(ctx context.Context, c *client.Client, job string, items chan<- item.Item) bool {
	for i, err := range c.Live(ctx, job, client.LiveOptions{}) {
		switch {
		case errors.Is(err, client.ErrNotAdmitted), errors.Is(err, bus.ErrNotFound):
			return false
		case err != nil:
			if ctx.Err() == nil {
				g.app.note("live items end: %v", err)
			}
			return true
		}
		select {
		case items <- i.Item:
		case <-ctx.Done():
			return true
		}
	}
	return true
}
