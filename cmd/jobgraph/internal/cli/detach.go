package cli

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// detach says which job goes on without its watcher. For programs the id is the only value on standard output.
func (g runs) detach(id string, err error) error {
	g.app.note("job %s goes on; `jobgraph watch %s` shows it, `jobgraph stop %s` stops it", id, id, id)
	if !g.app.machine() || errors.Is(context.Cause(g.app.soft), errUnread) {
		return errors.Join(err, g.app.printf("%s\n", id))
	}
	if err := output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"job_id": id}); err != nil {
		return err
	}
	text, _ := g.app.ending()
	g.app.complain(text)
	return outcome(exitCode(g.app.soft, context.Cause(g.app.soft)))
}

// stopNow stops a job within the short time that is left.
func (g runs) stopNow(c *client.Client, id string) {
	ctx, cancel := context.WithTimeout(g.app.hard, 10*time.Second)
	defer cancel()
	err := c.Stop(ctx, id, events.StopRequested{Reason: "interrupted", By: g.app.by()})
	if err != nil && !errors.Is(err, bus.ErrConflict) {
		g.app.note("job %s was not stopped: %v", id, err)
	}
}
