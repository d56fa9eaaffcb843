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

// Slots decides which runs may execute under concurrency keys.
type Slots interface {
	// Claim records the live runs of a job, and returns those that have a slot. It may be repeated.
	Claim(ctx context.Context, key string, c *Claim) (Grant, error)
}

// Claim is the set of live runs of a job; without runs the job releases its slots.
type Claim struct {
	fair.Item
	// Limit is the maximum number of live runs, over all jobs.
	Limit int
	// Runs are in the order in which they should start.
	Runs []graph.Run
	// Fresh is true for the first claim since the job was loaded, and after a failed claim: the scheduler that made the previous claim
	// may not have notified the jobs in Called.
	Fresh bool
}

// Grant is the answer to a claim.
type Grant struct {
	// Held are the runs that have a slot.
	Held []graph.Run
	// Called are other jobs that were given a slot and must be notified.
	Called []string
}

// semaphores owns the claims on slots of concurrency keys.
type semaphores struct {
	*env
	admission *admission
}

// jobSlots is what the partition knows of the slots of one job.
type jobSlots struct {
	claim claimState
	// live are the runs for which slots were last claimed, unless the job is unclaimed.
	live []graph.Run
}

// claimState is what came of the last claim of a job.
type claimState int

const (
	// unclaimed: there was no claim since the job was loaded, or its outcome is unknown.
	unclaimed claimState = iota
	// slotless: at least one of the live runs has no slot.
	slotless
	// slotted: every live run has a slot.
	slotted
)

// acquire updates the slots of a job's concurrency key, and admits the runs that have one. The slot belongs to the run: if this
// process dies, the next scheduler of the job finds it, and the events that end the run are delivered again until it is released.
func (s *semaphores) acquire(ctx context.Context, j *job) error {
	rules := &j.state.Rules
	if rules.KeyConcurrency == 0 || s.Slots == nil {
		return nil
	}
	runs := slices.Collect(j.state.Live)
	same := func(a, b graph.Run) bool { return a.SubJob == b.SubJob && a.Run == b.Run }
	if j.slots.claim == slotted && slices.EqualFunc(runs, j.slots.live, same) {
		return nil
	}
	if err := s.at(AtClaim); err != nil {
		return err
	}
	fresh := j.slots.claim == unclaimed
	j.slots.claim = unclaimed // Claim again next time unless all jobs in Called are notified, also after a claim whose outcome is unknown.
	grant, err := s.Slots.Claim(ctx, rules.ConcurrencyKey, &Claim{
		Item: s.admission.item(ctx, j), Limit: rules.KeyConcurrency, Runs: runs, Fresh: fresh,
	})
	if err != nil {
		return err
	}
	if err := s.notify(ctx, grant.Called); err != nil {
		return err
	}
	j.slots = jobSlots{claim: slotted, live: runs}
	j.state.Admit(grant.Held)
	switch {
	case len(grant.Held) < len(runs):
		j.slots.claim = slotless
	case !j.behind():
		j.reminder.reset()
	}
	return nil
}

// notify publishes an event to jobs that were given a slot, wherever they are.
func (s *semaphores) notify(ctx context.Context, jobs []string) error {
	acks := make([]Ack, len(jobs))
	for i, id := range jobs {
		key := graph.TurnTimer()
		m, err := events.Encode(s.Names, events.Event{
			Kind: events.KindTimerFired, ID: run.FactID(id, events.KindTimerFired, key), Job: id, Key: key, Source: source,
			Data: &events.TimerFired{Timer: key, Due: s.now.UTC()},
		})
		if err != nil {
			return err
		}
		if acks[i], err = s.publish(m, Expect{Any: true}); err != nil {
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
