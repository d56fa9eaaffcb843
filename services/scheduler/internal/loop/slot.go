package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

// Slots keeps who may run under the keys that jobs share.
type Slots interface {
	// Claim says what of a job is live, and gives what has a slot. It may be called again with the same.
	Claim(ctx context.Context, key string, c *Claim) (Grant, error)
}

// Claim is all that is live of a job; without runs the job gives up what it has.
type Claim struct {
	fair.Ticket
	// Limit is how many runs may be live at once, over all jobs.
	Limit int
	// Runs are in the order in which they want to go.
	Runs []graph.Run
	// Anew is true for the first claim since the job was loaded, and behind one that has failed: who made the one before may owe
	// a call.
	Anew bool
}

// Grant is the answer to a claim.
type Grant struct {
	// Held are those of the runs that have a slot.
	Held []graph.Run
	// Called are other jobs that were given a slot, which they have to be told.
	Called []string
}

// claim brings the slots of a job's key up to date, and lets the runs through that have one. Whatever becomes of this process,
// the slot is the run's: whoever has the job next finds it, and the events that end the run come again until it is given up.
func (p *Partition) claim(ctx context.Context, j *job) error {
	rules := &j.state.Rules
	if rules.KeyConcurrency == 0 || p.Slots == nil {
		return nil
	}
	runs := slices.Collect(j.state.Live)
	same := func(a, b graph.Run) bool { return a.SubJob == b.SubJob && a.Run == b.Run }
	if j.claimed && !j.slotless && slices.EqualFunc(runs, j.live, same) {
		return nil
	}
	if err := p.at(AtClaim); err != nil {
		return err
	}
	anew := !j.claimed
	j.claimed = false // Until those are told who were given a slot, be it by a claim of which nobody knows whether it was stored.
	grant, err := p.Slots.Claim(ctx, rules.ConcurrencyKey, &Claim{
		Ticket: p.ticket(ctx, j), Limit: rules.KeyConcurrency, Runs: runs, Anew: anew,
	})
	if err != nil {
		return err
	}
	if err := p.call(ctx, grant.Called); err != nil {
		return err
	}
	j.claimed, j.live, j.slotless = true, runs, len(grant.Held) < len(runs)
	j.state.Admit(grant.Held)
	switch {
	case j.slotless:
		p.refused = true
	case !j.behind:
		j.turnWait = 0
	}
	return nil
}

// call brings jobs back that were given a slot, wherever they are.
func (p *Partition) call(ctx context.Context, jobs []string) error {
	acks := make([]Ack, len(jobs))
	for i, id := range jobs {
		key := graph.TurnTimer()
		m, err := events.Encode(p.Names, events.Event{
			Kind: events.KindTimerFired, ID: run.FactID(id, events.KindTimerFired, key), Job: id, Key: key, Source: source,
			Data: &events.TimerFired{Timer: key, Due: p.now.UTC()},
		})
		if err != nil {
			return err
		}
		if acks[i], err = p.publishAs(m, Expect{Any: true}); err != nil {
			return err
		}
	}
	for i, ack := range acks {
		if _, err := ack.Wait(ctx); err != nil {
			return fmt.Errorf("call job %s, which has a slot: %w", jobs[i], err)
		}
	}
	return nil
}
