package recurring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// condenseAfter is the number of facts of a schedule after which they are condensed into one.
const condenseAfter = 200

// The boundaries between two effects.
const (
	AtStart    = "schedule.start"    // A job is about to be submitted.
	AtStarted  = "schedule.started"  // The job is admitted; the fact is about to be published.
	AtStop     = "schedule.stop"     // A job is about to be asked to stop.
	AtLook     = "schedule.look"     // A job is about to be looked for.
	AtArm      = "schedule.arm"      // A timer is about to be set.
	AtArmed    = "schedule.armed"    // The timer is armed.
	AtErase    = "schedule.erase"    // A schedule is about to be removed.
	AtCondense = "schedule.condense" // One fact is about to replace those before it.
	AtForget   = "schedule.forget"   // That fact is published; those before it are about to be removed.
)

// Points lists every boundary.
func Points() []string {
	return []string{AtStart, AtStarted, AtStop, AtLook, AtArm, AtArmed, AtErase, AtCondense, AtForget}
}

// act carries out the pending commands of one schedule. It reads the plan without the lock: only the goroutine of Run changes plans,
// and that goroutine waits for act.
func (k *Keeper) act(ctx context.Context, id string) error {
	k.mu.Lock()
	p, orphan := k.plans[id], k.orphans[id]
	k.mu.Unlock()
	if p == nil {
		return k.drop(ctx, id, orphan)
	}
	for _, c := range p.Pending() {
		if err := k.do(ctx, p, c); err != nil {
			return fmt.Errorf("%s %s: %w", c.Action, c.Key, err)
		}
		p.Sent(c)
	}
	return k.condense(ctx, p)
}

// drop removes facts of a schedule that does not exist.
func (k *Keeper) drop(ctx context.Context, id string, last uint64) error {
	if last == 0 {
		return nil
	}
	if err := k.Bus.Erase(ctx, id, last+1); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.orphans, id)
	return nil
}

func (k *Keeper) do(ctx context.Context, p *recur.Plan, c recur.Command) error {
	switch c.Action {
	case recur.Start:
		return k.start(ctx, p, c)
	case recur.Stop:
		if err := k.at(AtStop); err != nil {
			return err
		}
		job := schedule.JobID(p.ID, c.Key)
		return k.Jobs.Stop(ctx, job, job+"/replaced", "a later run of schedule "+p.ID+" replaces it")
	case recur.Look:
		return k.look(ctx, p, c)
	case recur.Erase:
		return k.erase(ctx, p)
	}
	if err := k.at(AtArm); err != nil {
		return err
	}
	if err := k.Bus.Arm(ctx, p.ID, c.Key, c.At); err != nil {
		return err
	}
	return k.at(AtArmed)
}

// start submits the job of a run and publishes the outcome. Job and fact have fixed ids, so that repeating both changes nothing.
func (k *Keeper) start(ctx context.Context, p *recur.Plan, c recur.Command) error {
	if err := k.at(AtStart); err != nil {
		return err
	}
	if late, err := k.late(ctx, p, c); late || err != nil {
		return err
	}
	given, err := k.given(ctx, p, c.Key)
	if err != nil {
		return err
	}
	request, err := p.Job(c.Key, given)
	if err != nil {
		return err
	}
	body, err := json.Marshal(&request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	err = k.Jobs.Admit(ctx, body)
	var faults events.Faults
	if err != nil && !errors.As(err, &faults) {
		return err
	}
	if len(faults) > 0 && p.Previous { // The previous result may have been removed since the job was admitted, which would make the request a different one.
		exists, err := k.Jobs.Exists(ctx, &request)
		if err != nil {
			return err
		}
		if exists {
			faults = nil
		}
	}
	if err := k.at(AtStarted); err != nil {
		return err
	}
	f := schedule.Fact{Kind: schedule.Started, Data: &schedule.Moved{Due: c.At}}
	result := "started"
	if len(faults) > 0 {
		f = schedule.Fact{Kind: schedule.Ended, Data: &schedule.End{Status: events.Failed, Refused: true, Error: &faults[0]}}
		result = "refused"
		k.Logger.Warn("run of a schedule was refused", "schedule", p.ID, "job", request.ID, "error", faults.Error())
	}
	return k.once(ctx, p.ID, c.Key, result, f)
}

// given returns the result of the previous run for a run that receives it as an input. It returns nil if the schedule stores that
// result itself.
func (k *Keeper) given(ctx context.Context, p *recur.Plan, key string) (json.RawMessage, error) {
	before := p.Before(key)
	if before == nil || len(before.Result) > 0 {
		return nil, nil
	}
	return k.Results.Result(ctx, before.JobID)
}

// late publishes that a run did not begin in time, unless its job was admitted and only the fact of its start was lost.
func (k *Keeper) late(ctx context.Context, p *recur.Plan, c recur.Command) (bool, error) {
	if c.By.IsZero() || time.Now().Before(c.By) {
		return false, nil
	}
	exists, err := k.exists(ctx, p, c.Key)
	if err != nil || exists {
		return false, err
	}
	return true, k.once(ctx, p.ID, c.Key, "late", schedule.Fact{Kind: schedule.Late, Data: &schedule.Moved{Due: c.At}})
}

// exists reports whether anything is left of the job of a run.
func (k *Keeper) exists(ctx context.Context, p *recur.Plan, key string) (bool, error) {
	request, err := p.Job(key, nil)
	if err != nil {
		return false, err
	}
	return k.Jobs.Exists(ctx, &request)
}

// once publishes a fact about a run unless it was published before.
func (k *Keeper) once(ctx context.Context, id, key, result string, f schedule.Fact) error {
	f.ID, f.Key, f.Source, f.Name = id, key, source, id+"/"+string(f.Kind)+"/"+key
	_, err := k.Bus.State(ctx, f, bus.ExpectNone())
	if errors.Is(err, bus.ErrConflict) {
		return nil
	}
	if err == nil && k.Count != nil {
		k.Count(result)
	}
	return err
}

// look checks whether the job of a run still exists. If it was deleted, look publishes the end of the run, because no other
// service will.
func (k *Keeper) look(ctx context.Context, p *recur.Plan, c recur.Command) error {
	if err := k.at(AtLook); err != nil {
		return err
	}
	exists, err := k.exists(ctx, p, c.Key)
	if err != nil || exists {
		return err
	}
	return k.once(ctx, p.ID, c.Key, string(events.Stopped), schedule.Fact{Kind: schedule.Ended, Data: &schedule.End{
		Status: events.Stopped, Error: &events.Fault{Code: events.CodeNotFound, Message: "the job was deleted"},
	}})
}

// erase removes a schedule that was deleted.
func (k *Keeper) erase(ctx context.Context, p *recur.Plan) error {
	if err := k.at(AtErase); err != nil {
		return err
	}
	if err := k.Bus.Erase(ctx, p.ID, p.Seq+1); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.plans, p.ID)
	return nil
}

// condense replaces many facts by one, if nothing was published meanwhile.
func (k *Keeper) condense(ctx context.Context, p *recur.Plan) error {
	if p.Facts < condenseAfter || p.Blocked != "" || p.Status == schedule.Gone {
		return nil
	}
	if err := k.at(AtCondense); err != nil {
		return err
	}
	state := p.State
	seq, err := k.Bus.State(ctx, schedule.Fact{
		Kind: schedule.Condensed, ID: p.ID, Source: source, Name: fmt.Sprintf("%s/%s/%d", p.ID, schedule.Condensed, p.Seq), Data: &state,
	}, bus.Expect{Last: &state.Seq, Subject: k.Bus.Names().Facts(p.ID)})
	if errors.Is(err, bus.ErrConflict) {
		return nil // Another fact is about to arrive, and causes the next attempt.
	}
	if err != nil {
		return err
	}
	if err := k.at(AtForget); err != nil {
		return err
	}
	return k.Bus.Forget(ctx, p.ID, seq)
}
