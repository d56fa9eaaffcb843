package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// dryRun runs the loop over a recorded job and prints what it would do.
func dryRun(ctx context.Context, p *host.Process, s Settings, d Deps) error {
	x, err := recorded(ctx, p, s.From, d.Bus)
	if errors.Is(err, client.ErrNotAdmitted) {
		return events.Faults{{
			Code: events.CodeNotFound, Field: "from", Message: fmt.Sprintf("job %q has no events yet", s.From), Cause: err.Error(), Hint: "wait until it is admitted",
		}}
	}
	if errors.Is(err, bus.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return events.Faults{{
			Code: events.CodeNotFound, Field: "from", Message: fmt.Sprintf("there is no file and no job %q", s.From), Cause: err.Error(),
			Hint: "name an export file, or a job that `jobgraph list` shows",
		}}
	}
	if err != nil {
		return err
	}
	p.Ready()
	out := d.Out
	if out == nil {
		out = os.Stdout
	}
	return replay(ctx, x, uint64(s.UntilSeq), out, p.Log)
}

// recorded reads an export file, or the job of that id from the bus.
func recorded(ctx context.Context, p *host.Process, from string, given *bus.Bus) (*client.Export, error) {
	x, err := client.Load(from)
	if !errors.Is(err, fs.ErrNotExist) || !events.ValidToken(from) {
		return x, err
	}
	b, err := onbus.Open(ctx, p, given)
	if err != nil {
		return nil, err
	}
	c := client.New(b)
	x, err = c.Archive().Export(ctx, from, time.Now())
	if _, headErr := c.Head(ctx, from); err != nil && errors.Is(headErr, client.ErrNotAdmitted) {
		err = headErr
	}
	return x, err
}

// replay runs the real loop over a recorded job, up to the event with a sequence (0: to its end). It prints one JSON object per
// line: each event, followed by what the loop would publish, save, arm or purge.
func replay(ctx context.Context, x *client.Export, until uint64, out io.Writer, logger *slog.Logger) error {
	names := events.NewNames(x.Prefix)
	dry := newDry(x, out)
	part := loop.New(loop.Default(names, logger), loop.Ports{
		Publisher: dry, Log: dry, Sweeper: dry, States: dry, Journals: dry, Alarms: dry, Blobs: dry, Meter: dry,
	})
	if first := x.Records[0].Seq; until != 0 && until < first {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "until-seq", Message: fmt.Sprintf("%d is before the first event of job %s, which has sequence %d", until, x.Job, first),
			Hint: fmt.Sprintf("name a sequence from %d to %d, or 0 for all", first, x.Records[len(x.Records)-1].Seq),
		}}
	}
	taken := uint64(0)
	for e, err := range x.Events() {
		if err != nil {
			return err
		}
		if until != 0 && e.Seq > until {
			break
		}
		taken++
		dry.take(e)
		batch := loop.Batch{Deliveries: []loop.Delivery{{Event: e, ConsumerSeq: taken, First: true, Acker: dry}}}
		if err := part.Replay(ctx, batch); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
	}
	return dry.err
}
