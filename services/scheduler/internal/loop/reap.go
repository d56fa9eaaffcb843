package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// errNoEnd means that the log does not have the end which the state in memory tells: it came from a saved state, which is thrown
// away.
var errNoEnd = errors.New("the log does not have the end that the saved state tells: nothing is deleted, and the job is folded from its log")

// reapSlack is by how much the end of a job and the moment at which the log has it may differ before the log is folded to tell
// them apart.
const reapSlack = time.Minute

// reaping deletes a job whose retention has passed, beside the loop. That it has ended, and when, is what the log says, and never what
// a saved state does. One that is too young is not deleted: its timer is armed for the right moment.
type reaping struct {
	p     *Partition
	job   string
	state *graph.Job // Nothing is applied to it meanwhile.
	whole bool       // It is the fold of the whole log.

	deleted bool
}

// deleted reports whether a command has deleted its job.
func (s *sending) deleted() bool {
	r, ok := s.ack.(*reaping)
	return ok && r.deleted
}

// Wait deletes the job, or gives errNoEnd.
func (r *reaping) Wait(ctx context.Context) (uint64, error) {
	p := r.p
	ended, err := r.end(ctx)
	if err != nil {
		return 0, err
	}
	last, err := p.Log.EventAt(ctx, r.state.Seq) // By the clock of the log: ours may be another.
	if err != nil {
		return 0, fmt.Errorf("read last event of job: %w", err)
	}
	due := ended.Add(r.state.Rules.Retention.Std())
	if last.Time.Add(reapSlack).Before(due) {
		if !r.whole {
			return 0, errNoEnd
		}
		p.Logger.Warn("a job is not deleted before its time", "job", r.job, "ended", ended, "due", due)
		return p.Alarms.Arm(ctx, r.job, graph.ReapTimer(r.state.Turn), due).Wait(ctx)
	}
	if err := p.Sweeper.ReapJob(ctx, r.job, r.state.Seq); err != nil {
		return 0, fmt.Errorf("delete job: %w", err)
	}
	r.deleted = true
	return 0, nil
}

// end gives the moment of the job's end by the log, or errNoEnd.
func (r *reaping) end(ctx context.Context) (time.Time, error) {
	if r.whole {
		return r.state.Ended, nil
	}
	e, err := r.p.confirm(ctx, r.job, r.state)
	if err == nil && e.Seq == 0 {
		err = errNoEnd
	}
	return e.Time, err
}

// confirm gives the event with which a job has ended as a state tells it, and the zero event when the log does not have it as its
// last word.
func (p *Partition) confirm(ctx context.Context, job string, state *graph.Job) (events.Event, error) {
	e, err := p.Log.EndOf(ctx, job)
	if err != nil {
		return events.Event{}, fmt.Errorf("read end of job: %w", err)
	}
	end, ok := e.Data.(*events.JobEnded)
	if !ok || e.Seq > state.Seq || end.Status != state.Status || end.Turn != state.Turn {
		return events.Event{}, nil
	}
	return e, nil
}

// restore takes a saved state, unless it cannot be read, has no digest, or says more than the log does: an end that is not there. One
// that can be read and is thrown away is doubted.
func (p *Partition) restore(ctx context.Context, job string, distrusted bool, saved *Saved) (state, doubted *graph.Job, err error) {
	if saved.Refused != "" {
		p.Logger.Warn("a saved state is thrown away and folded from the log", "job", job, "reason", saved.Refused,
			"hint", "`jobgraph fsck` checks all of them, and the log")
	}
	if saved.State == nil {
		return nil, nil, nil
	}
	state = &graph.Job{}
	if err := state.UnmarshalJSON(saved.State); err != nil {
		p.Logger.Info("stored state is folded again", "job", job, "reason", err)
		return nil, nil, nil
	}
	if distrusted || saved.Unsigned {
		return nil, state, nil
	}
	if state.Status.Terminal() && !state.EndOwed {
		if e, err := p.confirm(ctx, job, state); err != nil || e.Seq == 0 {
			return nil, state, err
		}
	}
	return state, nil, nil
}

// verify holds a fold against the saved state that ends with the same event, and reports whether they are the same: then nothing has
// to be told again. The state is saved anew in any case, with a digest.
func (p *Partition) verify(job string, state, doubted *graph.Job, saved []byte) bool {
	if folded, err := marshal(state); err == nil && bytes.Equal(folded, saved) {
		state.Transitions()
		return true
	}
	if doubted.Status != state.Status {
		p.Logger.Warn("a saved state told what the log does not have; it is thrown away and folded from the log", "job", job,
			"saved", string(doubted.Status), "folded", string(state.Status), "seq", state.Seq,
			"hint", "find out what wrote to the bucket of states; `jobgraph fsck` holds all of them against the log")
	}
	return false
}
