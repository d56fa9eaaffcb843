package loop

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// saver decides which jobs are saved when. A save covers only events whose commands were delivered; it runs outside the loop.
type saver struct {
	*env
	beside   *beside
	acks     *ackTracker
	work     *workSet
	isolator *isolator
	// took is the average duration of recent saves.
	took time.Duration
	// queue holds the jobs whose save is due and has not started.
	queue []*job
}

// savePhase is the progress of a job's save.
type savePhase int

const (
	saveIdle savePhase = iota
	saveQueued
	saveUnderWay
)

// jobSave is what the saver stores about one job.
type jobSave struct {
	phase savePhase
	// revision is the revision that the next save expects; it is known while the state is in memory.
	revision uint64
	// changes counts events since the last save that changed the state; since is the time of the first.
	changes int
	since   time.Time
	// seq is the sequence of the last save, size its length in bytes, spent what the job had spent by then.
	seq   uint64
	size  int
	spent events.Spent
}

// change counts an event that the next save has to cover.
func (s *jobSave) change(now time.Time) {
	if s.changes == 0 {
		s.since = now
	}
	s.changes++
}

// forget discards what is known about the state in memory.
func (s *jobSave) forget() {
	s.revision, s.changes, s.since, s.spent = 0, 0, time.Time{}, events.Spent{}
}

// adopt takes over what is known about a loaded state.
func (s *jobSave) adopt(r *loaded, now time.Time) {
	s.size, s.seq, s.spent = len(r.kept.State), r.seq, r.spent
	if r.changes > 0 {
		s.changes, s.since = r.changes, now
	}
}

// saveResult is the result of a save.
type saveResult struct {
	job *job
	// state identifies the state that was saved: if the job has another one now, the result does not apply to it.
	state *graph.Job
	// seq is the last event of that state, spent what the job had spent by then.
	seq      uint64
	spent    events.Spent
	revision uint64
	began    time.Time
	err      error
}

// saveDue queues the dirty jobs whose save is due, and starts as many saves as allowed. If too much is unacknowledged, it queues
// every job.
func (s *saver) saveDue(ctx context.Context) error {
	forced := s.acks.full() && len(s.queue) == 0
	if forced {
		for j := range s.work.retry {
			s.enqueue(j)
		}
	}
	for _, j := range s.work.dirty {
		if forced || s.due(j) {
			s.enqueue(j)
		}
	}
	return s.serve(ctx)
}

// enqueue queues a job for saving.
func (s *saver) enqueue(j *job) {
	if j.save.phase == saveIdle && s.saveable(j) {
		j.save.phase = saveQueued
		s.queue = append(s.queue, j)
	}
}

// serve starts queued saves while there is capacity. It checks each job again, since it may have changed.
func (s *saver) serve(ctx context.Context) error {
	for s.beside.underWay[saves] < s.Parallel && len(s.queue) > 0 {
		j := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		if j.save.phase != saveQueued {
			continue
		}
		j.save.phase = saveIdle
		if !s.saveable(j) {
			continue
		}
		if err := s.begin(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// saveAll starts every possible save.
func (s *saver) saveAll(ctx context.Context, jobs map[string]*job) error {
	for _, j := range jobs {
		if s.saveable(j) && s.beside.underWay[saves] < s.Parallel {
			if err := s.begin(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveable reports whether a save is possible: a save that covers events whose commands were not delivered would lose the
// commands.
func (s *saver) saveable(j *job) bool {
	return j.phase == ready && j.save.changes > 0 && j.save.phase != saveUnderWay && !j.retry.pending()
}

// due decides when a job is saved: at once if it is at rest; an active job less often the larger its state is, the more active jobs
// there are, and the longer a save takes.
func (s *saver) due(j *job) bool {
	if !s.saveable(j) {
		return false
	}
	if j.resting() {
		return true
	}
	scale := 1 + j.save.size/s.SaveScale
	if j.save.changes >= s.SaveEvery*scale {
		return true
	}
	after := s.SaveAfter * time.Duration(scale+len(s.work.retry)/s.CacheJobs*4)
	return s.now.Sub(j.save.since) >= min(max(after, savePause*s.took), s.SaveLatest)
}

// savePause is the pause of an active job between two saves, as a multiple of the duration of a save: on a store that syncs each
// write, saves would take capacity away from events.
const savePause = 32

// begin publishes the transitions since the last save and writes the state, in a goroutine that ends with the write.
func (s *saver) begin(ctx context.Context, j *job) error {
	if err := s.advanced(j); err != nil {
		return err
	}
	if err := s.at(AtSave); err != nil {
		return err
	}
	data, err := marshal(j.state)
	if err != nil {
		s.isolator.quarantine(ctx, j, events.Fault{
			Code: events.CodeInternal, Message: "the state cannot be written", Cause: err.Error(),
			Hint: "please report it with `jobgraph export " + j.id + "`",
		})
		return nil
	}
	r := &saveResult{job: j, state: j.state, seq: j.state.Seq, spent: j.state.Cost, began: s.now}
	kept := Saved{State: data, Revision: j.save.revision, Session: j.state.Session, Before: j.save.spent, Spent: r.spent}
	if j.state.Session != "" {
		kept.SessionRecord, kept.Said = talkOf(j.state.View()), j.said
		j.said = nil // If the save fails, the state is dropped, and the log supplies the items again.
	}
	j.save.phase, j.save.changes, j.save.size = saveUnderWay, 0, len(data)
	s.beside.begin(saves, func() result {
		r.revision, r.err = s.States.Save(ctx, r.job.id, kept, nil)
		return r
	})
	return nil
}

// finish handles the result of a save, and reports whether the state in memory is still valid: the store may have another one.
func (s *saver) finish(r *saveResult) (good bool) {
	s.took += (s.now.Sub(r.began) - s.took) / 8 // A moving average.
	j := r.job
	alive := j.state == r.state
	switch {
	case r.err == nil:
		s.Meter.Count(Saves, "saved")
		j.save.seq = max(j.save.seq, r.seq)
		if alive {
			j.save.revision, j.save.spent = r.revision, r.spent
		}
		return true
	case errors.Is(r.err, store.ErrConflict):
		s.Meter.Count(Saves, "conflict")
	default:
		s.Meter.Count(Saves, "error") // The write may have happened nevertheless.
	}
	return !alive
}

// advanced publishes the transitions since the last save, without waiting for the ack.
func (s *saver) advanced(j *job) error {
	transitions := j.state.Transitions()
	for part := 0; len(transitions) > 0; part++ {
		if err := s.at(AtAdvanced); err != nil {
			return err
		}
		now := transitions[:min(len(transitions), maxTransitions)]
		transitions = transitions[len(now):]
		key := strconv.FormatUint(j.state.Seq, 10)
		if part > 0 {
			key += "-" + strconv.Itoa(part)
		}
		m, err := events.Encode(s.Names, events.Event{
			Kind: events.KindJobAdvanced, ID: run.FactID(j.id, events.KindJobAdvanced, key), Job: j.id, Key: key, Source: source,
			Data: &events.JobAdvanced{From: j.save.seq, To: j.state.Seq, Transitions: now},
		})
		if err != nil {
			return err
		}
		s.Publisher.Publish(m, Expect{})
		s.Meter.Count(Published, string(events.KindJobAdvanced))
	}
	return nil
}

// maxTransitions keeps one job.advanced within a message.
const maxTransitions = 1000
