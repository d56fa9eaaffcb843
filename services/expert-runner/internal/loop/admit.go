package loop

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// source is the CloudEvents source of the runner's events.
const source = "jobgraph/runner"

// maxClaims limits the attempts to claim while the journal keeps changing.
const maxClaims = 8

func runText(run int) string { return strconv.Itoa(run) }

// admit decides whether this runner executes. If ok, the run is claimed or pure; an ending ends it at once. Otherwise the delivery
// is settled already.
func (r *run) admit() (ending *task.Ending, ok bool) {
	if !r.wanted() {
		return nil, false
	}
	if ending, ok = r.bring(); !ok || r.expert.Card.Pure {
		if ok {
			r.begin()
			r.watched.begin(false)
		}
		return ending, ok
	}
	claimed, ok := r.claim()
	if claimed != nil {
		ending = claimed
	}
	return ending, ok
}

// wanted checks an old or repeated message against the job's saved state, because the broker's deduplication does not reach so
// far. It also checks consultations, which the scheduler does not purge from queues.
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
		r.loop.settled(r.delivery, r.delivery.Receipt.Nak(retryUnknown))
	default:
		return true
	}
	return false
}

// claim appends a claim. It reads the journal first, except for the first delivery of a first run: then the journal must be empty,
// and the append fails if it is not.
func (r *run) claim() (*task.Ending, bool) {
	d := task.Decision{Admission: jobrun.Admission{Action: jobrun.Claim}}
	fresh := r.Run == 1 && r.ResumeOf == 0 && r.delivery.Count <= 1 && r.alone()
	for range maxClaims {
		if !fresh {
			journal, a, err := lease.Admit(r.ctx, r.loop.Journal, r.claimant())
			if err != nil {
				r.later("read the journal", err)
				return nil, false
			}
			d = task.Decide(r.Order, journal, a)
		}
		fresh = false
		if d.Action != jobrun.Claim {
			return r.refused(d)
		}
		if over, err := r.overInLog(&d); err != nil {
			r.later("look for the report", err)
			return nil, false
		} else if over {
			r.drop("it is reported")
			return nil, false
		}
		err := r.take(d)
		if err == nil {
			return d.Ending, true
		}
		if isCrash(err) || r.ctx.Err() != nil {
			r.abandon(err)
			return nil, false
		}
		if errors.Is(err, store.ErrNotPermitted) && !r.moveClaim() {
			r.later("claim", err)
			return nil, false
		}
	}
	r.later("claim", errors.New("the journal keeps changing"))
	return nil, false
}

// overInLog checks whether the log has the report of a run that another runner has executed, or that was delivered before. The
// journal may lack the record of a report that the log has: both are sent together, and a failing server may store only one.
func (r *run) overInLog(d *task.Decision) (bool, error) {
	if !d.Takeover && r.delivery.Count <= 1 {
		return false, nil
	}
	return r.loop.States.Reported(r.ctx, events.Address{Job: r.Job, SubJob: r.SubJob, Run: r.Run, Pool: r.Facts}, jobrun.BornOf(&r.Work))
}

// alone reports whether all records of the run must be on the subject of its claim.
func (r *run) alone() bool { return r.Facts == "" || r.Claims != "" && len(r.Former) == 0 }

// moveClaim claims the run on the subject of its pool if the work, published before the permissions of its runners changed, names
// another. From then on no runner of the pool may claim it elsewhere.
func (r *run) moveClaim() bool {
	if r.Claims != "" || r.Facts == "" {
		return false
	}
	r.Claims = r.Pool
	return true
}

// claimant returns the run with this runner as its owner. If the subjects of its facts name its pool, other work of the run may
// name the pool for the claim, too.
func (r *run) claimant() lease.Run {
	c := lease.Run{
		Job: r.Job, SubJob: r.SubJob, Run: r.Run, Resumes: r.ResumeOf, Owner: r.loop.Owner, Lease: r.Lease.Std(), Pool: r.Claims, Former: r.Former,
	}
	if r.Claims == "" && r.Facts != "" {
		c.Former = []events.Tenure{{Pool: r.Pool, Run: r.Run}}
	}
	return c
}

// take appends the claim to the journal, and begins the run under it.
func (r *run) take(d task.Decision) error {
	if err := r.loop.at(BeforeClaim, r); err != nil {
		return err
	}
	intent, announced := d.Announces(r.expert.Intent)
	h, err := lease.Take(r.ctx, r.loop.Journal, r.claimant(), d.Expect, intent, lease.Hooks{Stored: r.leaseWatch.renewed, Lost: r.lost})
	if err != nil {
		return err
	}
	r.hold, r.effects.known, r.announced = h, d.Effects, announced
	r.claimed.Store(h)
	if d.Pending() {
		r.decision = &d
	}
	if d.Takeover {
		r.loop.Meter.Diverted("taken_over")
		r.log().Info("took over a run from a dead runner")
	}
	r.begin()
	r.watched.begin(d.Takeover)
	return nil
}

// lost ends a run that no longer belongs to this runner: as stopped if the journal says that it is over, otherwise as fenced.
func (r *run) lost(reason string, over bool) error {
	why := errFenced
	if over {
		why = &cancelled{reason: reason}
	}
	r.cancel(why)
	return why
}

// begin starts the clock of the run and its heartbeat.
func (r *run) begin() {
	r.started = time.Now()
	r.heartbeat.start(r)
}

// refused acts on a decision not to claim.
func (r *run) refused(d task.Decision) (*task.Ending, bool) {
	switch d.Action {
	case jobrun.Replay:
		r.loop.Meter.Diverted("replayed")
		r.publish(*d.Ending)
	case jobrun.Wait:
		r.loop.settled(r.delivery, r.delivery.Receipt.Nak(d.Wait))
	default:
		r.drop(d.Reason)
	}
	return nil, false
}

// drop acknowledges work that is no longer needed.
func (r *run) drop(reason string) {
	r.loop.Meter.Diverted("not_wanted")
	r.log().Debug("work dropped", "reason", reason)
	r.loop.settled(r.delivery, r.delivery.Receipt.Ack())
}

// later gives the message back because the bus did not answer.
func (r *run) later(doing string, err error) {
	if !errors.Is(err, context.Canceled) && r.loop.said.let(doing) {
		r.loop.Logger.Warn("work returned", "doing", doing, "error", err)
	}
	r.loop.settled(r.delivery, r.delivery.Receipt.Nak(retryFailed))
}

var _ expert.Hand = (*effects)(nil)
