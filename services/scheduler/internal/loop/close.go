package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// cancelled is the body of a cancel message to workers.
type cancelled struct {
	// Run is the run to end, 0 for all of the job.
	Run int `json:"run,omitempty"`
	// Reason tells people why the runs are ended.
	Reason string `json:"reason,omitempty"`
}

// closer closes runs on behalf of the scheduler. It has no state, and runs outside the goroutine of the loop.
type closer struct{ *env }

// closeRuns fences runs of one job, a limited number at a time. If the whole job ends, all its workers are notified first.
func (c closer) closeRuns(ctx context.Context, j *job, commands []graph.Command) []pendingAck {
	done := make([]pendingAck, len(commands))
	if j.state.EndOwed {
		if err := c.cancel(j.id, "", 0, commands[0].Reason); err != nil {
			for i := range done {
				done[i] = pendingAck{job: j, cmd: &commands[i], err: err}
			}
			return done
		}
	}
	room := make(chan struct{}, c.Parallel)
	var all sync.WaitGroup
	for i := range commands {
		room <- struct{}{}
		all.Go(func() { // Ends with the close of one run.
			defer func() { <-room }()
			done[i] = pendingAck{job: j, cmd: &commands[i], err: c.closeRun(ctx, j.id, &commands[i])}
		})
	}
	all.Wait()
	return done
}

// closeRun fences one run. After the append it cannot be claimed; the purge removes it from the queue, the cancel message
// tells its worker, and the event lets the job continue.
func (c closer) closeRun(ctx context.Context, job string, cmd *graph.Command) error {
	if err := c.at(AtCloseJournal); err != nil {
		return err
	}
	closed, err := c.fence(ctx, job, cmd)
	if err != nil {
		return fmt.Errorf("close run in its journal: %w", err)
	}
	if err := c.at(AtClosePurge); err != nil {
		return err
	}
	if err := c.Sweeper.PurgeWork(ctx, c.Names.WorkFor("*", "*", job, cmd.SubJob, cmd.Run)); err != nil {
		return fmt.Errorf("purge work: %w", err)
	}
	if err := c.cancel(job, cmd.SubJob, cmd.Run, cmd.Reason); err != nil {
		return err
	}
	m, err := events.Encode(c.Names, events.Event{
		Kind: events.KindSubJobClosed, ID: run.EventID(job, events.KindSubJobClosed, cmd.SubJob, cmd.Run),
		Job: job, SubJob: cmd.SubJob, Run: cmd.Run, Source: source, Data: closed,
	})
	if err != nil {
		return err
	}
	if err := c.at(AtCloseFact); err != nil {
		return err
	}
	_, err = c.Publisher.Publish(m, Expect{}).Wait(ctx)
	return err
}

// fence appends the close of a run, unless the journal has one, and returns the last holder. Work published before the list of
// signers existed names the subject without a pool: the run is closed there, too.
func (c closer) fence(ctx context.Context, job string, cmd *graph.Command) (closed *events.SubJobClosed, err error) {
	in := []lease.One{c.Journals.Journal(job, cmd.SubJob, "")}
	if pool := c.pooled(cmd.Pool); pool != "" {
		in = append(in, c.Journals.Journal(job, cmd.SubJob, pool))
	}
	closed = &events.SubJobClosed{}
	closed.LeaseUntil, closed.Claimed, err = lease.Close(ctx, cmd.Run, cmd.Reason, in...)
	return closed, err
}

// cancel notifies workers over core NATS; an empty SubJob means the whole job.
func (c closer) cancel(job, subjob string, run int, reason string) error {
	if err := c.at(AtCloseCancel); err != nil {
		return err
	}
	body, err := json.Marshal(cancelled{Run: run, Reason: reason})
	if err != nil {
		return fmt.Errorf("encode cancel: %w", err)
	}
	if err := c.Publisher.Tell(c.Names.Cancel(job, subjob), body); err != nil {
		return fmt.Errorf("tell workers: %w", err)
	}
	return nil
}
