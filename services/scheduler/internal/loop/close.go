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

// cancelled is the body of a cancel message.
type cancelled struct {
	// Run is the run to end, 0 for all of the job.
	Run int `json:"run,omitempty"`
	// Reason is for people.
	Reason string `json:"reason,omitempty"`
}

// closeRuns fences runs of one job, some at a time. When the whole job ends its workers are told first, all at once.
func (p *Partition) closeRuns(ctx context.Context, j *job, commands []graph.Command) []sending {
	done := make([]sending, len(commands))
	if j.state.EndOwed {
		if err := p.cancel(j.id, "", 0, commands[0].Reason); err != nil {
			for i := range done {
				done[i] = sending{job: j, cmd: &commands[i], err: err}
			}
			return done
		}
	}
	slots := make(chan struct{}, p.Parallel)
	var all sync.WaitGroup
	for i := range commands {
		slots <- struct{}{}
		all.Go(func() { // Ends with the close of one run.
			defer func() { <-slots }()
			done[i] = sending{job: j, cmd: &commands[i], err: p.closeRun(ctx, j.id, &commands[i])}
		})
	}
	all.Wait()
	return done
}

// closeRun fences one run. From the append on nobody can claim it; the purge keeps it from those who have not seen it, the
// cancel tells whoever is at work, and the fact lets the job go on.
func (p *Partition) closeRun(ctx context.Context, job string, cmd *graph.Command) error {
	if err := p.at(AtCloseJournal); err != nil {
		return err
	}
	closed, err := p.fence(ctx, job, cmd)
	if err != nil {
		return fmt.Errorf("close run in its journal: %w", err)
	}
	if err := p.at(AtClosePurge); err != nil {
		return err
	}
	if err := p.Sweeper.PurgeWork(ctx, p.Names.WorkFor("*", "*", job, cmd.SubJob, cmd.Run)); err != nil {
		return fmt.Errorf("purge work: %w", err)
	}
	if err := p.cancel(job, cmd.SubJob, cmd.Run, cmd.Reason); err != nil {
		return err
	}
	m, err := events.Encode(p.Names, events.Event{
		Kind: events.KindSubJobClosed, ID: run.EventID(job, events.KindSubJobClosed, cmd.SubJob, cmd.Run),
		Job: job, SubJob: cmd.SubJob, Run: cmd.Run, Source: source, Data: closed,
	})
	if err != nil {
		return err
	}
	if err := p.at(AtCloseFact); err != nil {
		return err
	}
	_, err = p.Publisher.Publish(m, Expect{}).Wait(ctx)
	return err
}

// fence appends the close of a run, unless that stands there, and says who held the run.
func (p *Partition) fence(ctx context.Context, job string, cmd *graph.Command) (*events.SubJobClosed, error) {
	journal, err := lease.Fence(ctx, oneJournal{p.Journals, job, cmd.SubJob}, cmd.Run, cmd.Reason, ErrConflict)
	if err != nil {
		return nil, err
	}
	closed := &events.SubJobClosed{}
	closed.LeaseUntil, closed.Claimed = journal.Held(cmd.Run)
	return closed, nil
}

// oneJournal is that of one SubJob.
type oneJournal struct {
	all         Journals
	job, subjob string
}

// Read implements lease.One.
func (j oneJournal) Read(ctx context.Context) ([]run.Entry, uint64, error) {
	return j.all.Read(ctx, j.job, j.subjob)
}

// Append implements lease.One.
func (j oneJournal) Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error) {
	return 0, j.all.Append(ctx, j.job, j.subjob, r, last)
}

// cancel tells workers over core NATS; an empty SubJob means all of the job.
func (p *Partition) cancel(job, subjob string, run int, reason string) error {
	if err := p.at(AtCloseCancel); err != nil {
		return err
	}
	body, err := json.Marshal(cancelled{Run: run, Reason: reason})
	if err != nil {
		return fmt.Errorf("encode cancel: %w", err)
	}
	if err := p.Publisher.Tell(p.Names.Cancel(job, subjob), body); err != nil {
		return fmt.Errorf("tell workers: %w", err)
	}
	return nil
}
