package graph

import (
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// lifecycle is the status of the job as a whole: it changes, ends, and is revived.
type lifecycle struct {
	job    *State
	now    *events.Event
	dag    *dag
	runs   *runs
	outbox *outbox
}

// end ends the job and closes everything that is still live.
func (l *lifecycle) end(status events.Status, f *events.Fault) {
	l.job.Status = status
	l.job.Turn++
	l.job.Changed, l.job.Ended, l.job.EndCause, l.job.EndOwed, l.job.Error = l.now.Time, l.now.Time, l.now.Seq, true, f
	l.job.Replanning = false
	l.runs.halt()
	code := events.CodeCancelled
	if f != nil {
		code = f.Code
	}
	for _, n := range l.dag.nodes {
		if n.live() {
			l.runs.stop(n, fault(code, "the job is "+string(status)))
		}
	}
	l.job.Tails = nil
	for _, at := range l.dag.tails() {
		l.job.Tails = append(l.job.Tails, l.dag.nodes[at].ID)
	}
}

// revive resumes an ended job: it begins a new epoch, with a new deadline, and arms timers again.
func (l *lifecycle) revive() {
	l.job.Epoch++
	l.job.Status = events.Running
	if l.job.PlanVersion == 0 {
		l.job.Status = events.Planning
	}
	l.job.Turn++
	l.job.Changed = l.now.Time
	l.job.EndOwed, l.job.EndCause, l.job.Error, l.job.AnswerSeq, l.job.Reaping = false, 0, nil, 0, false
	l.job.Outcome = ""
	l.job.Ended, l.job.Result, l.job.ResultRef, l.job.Tails = time.Time{}, nil, nil, nil
	l.setDeadline()
	l.outbox.repeat()
	for _, n := range l.dag.nodes {
		n.sent.retry, n.sent.fence, n.sent.timeout = 0, 0, 0
		if !n.FenceAt.IsZero() {
			l.outbox.attend(n)
		}
	}
}

func (l *lifecycle) setDeadline() {
	if l.job.Rules.Deadline > 0 {
		l.job.Deadline = l.now.Time.Add(l.job.Rules.Deadline.Std())
	}
}

// ended applies the terminal fact once it is read back.
func (l *lifecycle) ended(e *events.Event, d *events.JobEnded) Effect {
	if !l.job.EndOwed || d.Turn != l.job.Turn || e.Kind != movedTo(l.job.Status) {
		return ignored("no %s of turn %d is owed", e.Kind, d.Turn)
	}
	l.job.EndOwed = false
	l.job.Result, l.job.ResultRef = d.Result, d.ResultRef
	return applied
}

// move changes the job's status and puts the corresponding fact into the outbox.
func (l *lifecycle) move(to events.Status) {
	if l.job.Status == to {
		return
	}
	l.job.Status = to
	l.job.Turn++
	l.job.Changed = l.now.Time
	l.outbox.add(movedTo(to), strconv.Itoa(l.job.Turn), events.JobMoved{Status: to, Turn: l.job.Turn, Cause: l.now.Seq})
}

// planningStated records that the log contains the beginning of planning.
func (l *lifecycle) planningStated() {
	if l.job.Status == events.Created {
		l.job.Status, l.job.Changed = events.Planning, l.now.Time
	}
}

// movedTo returns the kind of the fact that a job has reached a status.
func movedTo(s events.Status) events.Kind {
	switch s {
	case events.Planning:
		return events.KindJobPlanning
	case events.Waiting:
		return events.KindJobWaiting
	case events.Running:
		return events.KindJobRunning
	case events.Finalizing:
		return events.KindJobFinalizing
	case events.Finished:
		return events.KindJobFinished
	case events.Failed:
		return events.KindJobFailed
	}
	return events.KindJobStopped
}
