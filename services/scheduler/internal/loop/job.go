package loop

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// job is what a partition knows of one job: the state, if it is cached, and what is still to be done about it.
type job struct {
	id string
	// state is nil when it has to be loaded first.
	state *graph.Job
	// name is what born gives for the request at nameSeq.
	name    string
	nameSeq uint64
	// trace is the traceparent that came with the request.
	trace string
	// step is the span of the commands under way, and its traceparent; without a collector there is none.
	step span
	// whole is true when the state is the fold of the whole log, and nothing of it was taken from a saved one. distrusted is true
	// when the saved one has told what the log does not have: the next load takes nothing from it.
	whole, distrusted bool
	// revision is what the next save has to name; it is known when state is not nil.
	revision uint64
	// news are delivered events to be applied.
	news []events.Event
	// unacked are the deliveries that a save has yet to cover.
	unacked []*receipt
	// looked is how many of them are known to lie behind the save up to lookedSeq.
	looked    int
	lookedSeq uint64
	// dirty counts events since the last save that changed the state; since is when the first of them came.
	dirty int
	since time.Time
	// savedSeq is the sequence of the last save, size its length in bytes; saving is true while one is under way.
	savedSeq uint64
	size     int
	saving   bool
	// spent is what the job had spent by the last save.
	spent events.Spent
	// life counts how often the state was forgotten: what a save of an earlier life says is not about this one.
	life int
	// owing is true when an effect could not be had; the job is tried again at retryAt.
	owing    bool
	retryAt  time.Time
	failures int
	// flying is true while commands of it are under way: what comes meanwhile is applied when they have landed.
	flying bool
	// loading is true while the state is read, beside the loop; stale is true when what is read may lack something by now. turnsDue
	// are the lanes in which its turn has come meanwhile.
	loading  bool
	stale    bool
	turnsDue []*lane
	// fault is why the job is left alone.
	fault *events.Fault
	// moved is true when something was applied since its commands were last looked at.
	moved bool
	// kept are the sequences of events that were remembered for the job's work; some may be forgotten since.
	kept []uint64
	// inLine is true while the job waits for room to be saved.
	inLine bool
	// uses are what it has in the queues of pools. behind is true while work of it waits for its turn, since lateSince; guarded is
	// true while its deliveries are kept unacknowledged for that. armed is true while a timer comes for it then, as far as the log
	// tells, at turnAt, and turnWait how long that was armed for. called is true while it is on the list of a refill.
	uses      []use
	behind    bool
	lateSince time.Time
	guarded   bool
	armed     bool
	turnAt    time.Time
	turnWait  time.Duration
	called    bool
	// live are the runs for which a slot was last claimed, if claimed is true; slotless is true while one of them has none.
	live     []graph.Run
	claimed  bool
	slotless bool
	// queued is true while the job is in the turn's list; used is when it last was.
	queued bool
	used   time.Time
}

// forget drops the cached state, so that the next look at the job loads it and reads the log behind it.
func (j *job) forget() {
	j.state, j.news, j.revision, j.spent = nil, nil, 0, events.Spent{}
	j.dirty, j.since, j.whole = 0, time.Time{}, false
	j.live, j.claimed, j.slotless = nil, false, false
	j.armed = false // Somebody else may have had the timer since.
	j.leaveLanes()
	j.life++
}

// holds gives the open receipt of an event; nil when there is none.
func (j *job) holds(seq uint64) *receipt {
	for _, r := range j.unacked {
		if r.seq == seq && !r.covered {
			return r
		}
	}
	return nil
}

// change counts an event that the next save has to cover.
func (j *job) change(now time.Time) {
	j.moved = true
	if j.dirty == 0 {
		j.since = now
	}
	j.dirty++
}

// busy reports whether something is still to be done about the job.
func (j *job) busy() bool {
	return j.dirty > 0 || j.saving || j.owing || j.flying || j.loading || len(j.unacked) > 0
}

// late reports whether work of the job waits for its turn or for a slot.
func (j *job) late() bool {
	return j.state != nil && (j.behind || j.slotless) && !j.state.Status.Terminal()
}

// resting reports whether nothing is in flight, so that the state is worth saving at once.
func (j *job) resting() bool {
	return j.state.AtRest() && !j.state.EndOwed && len(j.state.Facts) == 0
}

// over reports whether nothing more is expected of the job.
func (j *job) over() bool {
	return j.state != nil && j.state.Status.Terminal() && !j.state.EndOwed && len(j.state.Facts) == 0
}
