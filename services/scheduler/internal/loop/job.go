package loop

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// job is what a partition knows of one job. The cache owns its phase and its state; a field whose type belongs to another part is
// changed only by that part.
type job struct {
	id    string
	phase phase
	// state is nil unless the job is ready or in flight.
	state *graph.Job
	// basis is what the state was folded from, or how the next load must fold it.
	basis basis
	// inbox are delivered events to be applied.
	inbox []events.Event
	// changed is true if an event was applied since the commands were last read.
	changed bool
	// facts are the sequences of events that were cached for the job's work; some may be evicted.
	facts []uint64
	// said are the items of the changes since the last save, for the conversation of the job's session.
	said []Said
	// brief is the brief of the job's work; nil before the first work.
	brief *joblog.JobBrief
	// dirty is true while the job is in the dirty set; used is when it was last put there.
	dirty bool
	used  time.Time

	acks     jobAcks
	save     jobSave
	retry    jobRetry
	limits   jobLimits
	slots    jobSlots
	reminder jobReminder
}

// basis is what a state is folded from.
type basis int

const (
	// savedBasis: the saved state and the log after it.
	savedBasis basis = iota
	// logBasis: the whole log, without a saved state.
	logBasis
	// distrusted: there is no state, and the saved one contradicts the log, so the next load uses the log alone.
	distrusted
)

func (j *job) loading() bool {
	return j.phase == loadQueued || j.phase == loading || j.phase == loadingStale
}

func (j *job) inFlight() bool { return j.phase == inFlight || j.phase == inFlightStale }

// born identifies this job among jobs with the same id; see incarnation.ID.
func (j *job) born() string { return incarnation.ID(j.id, j.state.RequestSeq) }

// busy reports whether the job still needs attention.
func (j *job) busy() bool {
	return j.save.changes > 0 || j.save.phase == saveUnderWay || j.retry.pending() || j.inFlight() || j.loading() || len(j.acks.open) > 0
}

// clean reports whether the state is saved, and nothing is in progress or has to be tried again.
func (j *job) clean() bool {
	return j.phase == ready && j.save.changes == 0 && j.save.phase != saveUnderWay && !j.retry.pending()
}

// behind reports whether work of the job waits for its turn.
func (j *job) behind() bool {
	if len(j.limits.turns) > 0 {
		return true
	}
	for _, has := range j.state.Lanes {
		if has.Behind > 0 {
			return true
		}
	}
	return false
}

// late reports whether work of the job waits for its turn or for a slot.
func (j *job) late() bool {
	return j.state != nil && (j.slots.claim == slotless || j.behind()) && !j.state.Status.Terminal()
}

// resting reports whether nothing is in flight, so that the state is worth saving at once.
func (j *job) resting() bool {
	return j.state.AtRest() && !j.state.EndOwed && len(j.state.Facts) == 0
}

// over reports whether nothing more is expected of the job.
func (j *job) over() bool {
	return j.state != nil && j.state.Status.Terminal() && !j.state.EndOwed && len(j.state.Facts) == 0
}
