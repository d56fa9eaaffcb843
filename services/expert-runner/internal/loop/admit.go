package loop

import (
	"context"
	"errors"
	"strconv"
	"time"

	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// source is the CloudEvents source of everything the runner states.
const source = "jobgraph/runner"

// maxClaims bounds the attempts to claim behind a journal that goes on changing.
const maxClaims = 8

func runText(run int) string { return strconv.Itoa(run) }

// admit decides whether this runner executes. With true the run is claimed, or pure; an ending ends it at once. With false
// the delivery is settled already.
func (r *run) admit() (ending *task.Ending, ok bool) {
	if !r.wanted() {
		return nil, false
	}
	if ending, ok = r.bring(); !ok || r.expert.Card.Pure {
		if ok {
			r.begin()
		}
		return ending, ok
	}
	claimed, ok := r.claim()
	if claimed != nil {
		ending = claimed
	}
	return ending, ok
}

// wanted holds a message that is old, or that came before, against the job's saved state: the broker's own memory of
// repeats does not reach so far. So is an inquiry, which the scheduler takes out of no queue.
func (r *run) wanted() bool {
	age := time.Since(r.delivery.Stored)
	if _, inquiry := r.Inquiry(); r.delivery.Count <= 1 && age < task.DedupeWindow && !inquiry {
		return true
	}
	state, err := r.loop.States.State(r.ctx, r.Job)
	if err != nil {
		r.later("read the job's state", err)
		return false
	}
	action, reason := task.Open(r.Order, state, age)
	switch action {
	case jobrun.Drop:
		r.drop(reason)
	case jobrun.Wait:
		r.loop.settle(r.delivery, Answer{Verb: Nak, Delay: retryUnknown})
	default:
		return true
	}
	return false
}

// claim appends a claim, after reading the journal unless this is the first delivery of a first run: its journal is empty,
// and the broker says so if it is not.
func (r *run) claim() (*task.Ending, bool) {
	d := task.Decision{Admission: jobrun.Admission{Action: jobrun.Claim}}
	fresh := r.Run == 1 && r.ResumeOf == 0 && r.delivery.Count <= 1
	for range maxClaims {
		if !fresh {
			entries, err := r.loop.Journal.Read(r.ctx, r.Job, r.SubJob)
			if err != nil {
				r.later("read the journal", err)
				return nil, false
			}
			if d, err = r.decide(entries); err != nil {
				r.later("read the clock", err)
				return nil, false
			}
		}
		fresh = false
		if d.Action != jobrun.Claim {
			return r.refused(d)
		}
		err := r.take(d)
		if err == nil {
			return d.Ending, true
		}
		if isCrash(err) || r.ctx.Err() != nil {
			r.abandon(err)
			return nil, false
		}
	}
	r.later("claim", errors.New("the journal goes on changing"))
	return nil, false
}

// decide holds the journal against the broker's clock, which is asked only where somebody else has a claim.
func (r *run) decide(entries []jobrun.Entry) (task.Decision, error) {
	facts := task.Facts{Owner: r.loop.Owner, Journal: entries}
	d := task.Decide(r.Order, facts)
	if d.Action != jobrun.Wait {
		return d, nil
	}
	var err error
	if facts.Now, facts.Since, err = r.loop.Journal.Clock(r.ctx); err != nil {
		return d, err
	}
	return task.Decide(r.Order, facts), nil
}

// take appends the claim.
func (r *run) take(d task.Decision) error {
	if err := r.loop.at(BeforeClaim, r); err != nil {
		return err
	}
	intent, announced := d.Announces(r.expert.Intent)
	h := newHold(r, d.Expect)
	seq, err := r.loop.Journal.Append(r.Job, r.SubJob, jobrun.Claimed(r.Run, r.loop.Owner, r.Lease.Std(), r.ResumeOf, intent), d.Expect).Wait(r.ctx)
	if err != nil && !errors.Is(err, ErrConflict) {
		// Nobody may know whether it was stored; the journal does.
		seq, err = h.claimed(d.Expect)
	}
	if err != nil {
		return err
	}
	h.last = seq
	r.hold, r.known, r.announced = h, d.Effects, announced
	if d.Pending() {
		r.decision = &d
	}
	if d.Takeover {
		r.loop.Meter.Diverted("taken_over")
		r.log().Info("run taken over from a runner that let its lease pass")
	}
	r.begin()
	return nil
}

// begin starts the clock of the run and its pulse.
func (r *run) begin() {
	r.started = time.Now()
	r.pulse.start(r)
}

// refused acts on a decision not to claim.
func (r *run) refused(d task.Decision) (*task.Ending, bool) {
	switch d.Action {
	case jobrun.Replay:
		r.loop.Meter.Diverted("replayed")
		r.publish(*d.Ending)
	case jobrun.Wait:
		r.loop.settle(r.delivery, Answer{Verb: Nak, Delay: d.Wait})
	default:
		r.drop(d.Reason)
	}
	return nil, false
}

// drop acknowledges work that nobody wants any more.
func (r *run) drop(reason string) {
	r.loop.Meter.Diverted("not_wanted")
	r.log().Debug("work dropped", "reason", reason)
	r.loop.settle(r.delivery, Answer{Verb: Ack})
}

// later gives the message back because the bus did not answer.
func (r *run) later(doing string, err error) {
	if !errors.Is(err, context.Canceled) && r.loop.said.let(doing) {
		r.loop.Logger.Warn("work given back", "doing", doing, "error", err)
	}
	r.loop.settle(r.delivery, Answer{Verb: Nak, Delay: retryFailed})
}

var _ expert.Hand = (*run)(nil)
