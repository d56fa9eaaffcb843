package loop

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// saver owns what is saved when. A save covers events whose commands were delivered, and no others; it runs beside the loop.
type saver struct {
	*env
	acks     *ackTracker
	work     *workSet
	isolator *isolator
	// done brings the results of saves, of which underWay are to come.
	done     chan saveResult
	underWay int
	// took is how long a save takes of late.
	took time.Duration
	// queue holds the jobs whose save is due and has not begun.
	queue []*job
}

// savePhase is where a job stands with its save.
type savePhase int

const (
	saveIdle savePhase = iota
	saveQueued
	saveUnderWay
)

// jobSave is what the saver knows of one job.
type jobSave struct {
	phase savePhase
	// revision is what the next save has to name; it is known when the state is in memory.
	revision uint64
	// changes counts events since the last save that changed the state; since is when the first of them came.
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

// forget drops what is known of the state in memory.
func (s *jobSave) forget() {
	s.revision, s.changes, s.since, s.spent = 0, 0, time.Time{}, events.Spent{}
}

// adopt takes over what is known of a state that was read.
func (s *jobSave) adopt(r *loaded, now time.Time) {
	s.size, s.seq, s.spent = len(r.kept.State), r.seq, r.spent
	if r.changes > 0 {
		s.changes, s.since = r.changes, now
	}
}

// saveResult is how a save ended.
type saveResult struct {
	job        *job
	generation int
	seq        uint64
	revision   uint64
	spent      events.Spent
	began      time.Time
	err        error
}

func newSaver(e *env, acks *ackTracker, work *workSet, isolator *isolator) *saver {
	return &saver{env: e, acks: acks, work: work, isolator: isolator, done: make(chan saveResult, e.Parallel)}
}

// saveDue queues the dirty jobs whose save is due, and begins as many saves as there is room for. When too much is unacknowledged every
// job is queued, due or not.
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

// enqueue has a job saved when there is room.
func (s *saver) enqueue(j *job) {
	if j.save.phase == saveIdle && s.saveable(j) {
		j.save.phase = saveQueued
		s.queue = append(s.queue, j)
	}
}

// serve begins saves while there is room. What became of a job since it was queued is looked at again.
func (s *saver) serve(ctx context.Context) error {
	for s.underWay < s.Parallel && len(s.queue) > 0 {
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

// saveAll begins every save of jobs that is possible.
func (s *saver) saveAll(ctx context.Context, jobs map[string]*job) error {
	for _, j := range jobs {
		if s.saveable(j) && s.underWay < s.Parallel {
			if err := s.begin(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveable reports whether a save is possible: one that covers events whose commands were not delivered would lose them.
func (s *saver) saveable(j *job) bool {
	return j.phase == ready && j.save.changes > 0 && j.save.phase != saveUnderWay && !j.retry.pending()
}

// due decides when a job that can be saved is: at once when it is at rest; in motion the less often the larger it is, the more of them
// are and the longer a save takes.
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

// savePause is how many times longer than a save takes a job in motion goes without one: on a store that makes each write durable
// before it acknowledges it, saves would take the room of the events in it.
const savePause = 32

// begin states the transitions since the last save and writes the state, in a goroutine that ends with the write.
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
	r := saveResult{job: j, generation: j.generation, seq: j.state.Seq, spent: j.state.Cost, began: s.now}
	kept := Saved{State: data, Revision: j.save.revision, Session: j.state.Session, Before: j.save.spent, Spent: r.spent}
	if j.state.Session != "" {
		kept.Talk = talkOf(j.state.View())
	}
	j.save.phase, j.save.changes, j.save.size = saveUnderWay, 0, len(data)
	s.underWay++
	go func() {
		r.revision, r.err = s.States.Save(ctx, r.job.id, kept, nil)
		s.done <- r // Has room for every save there can be.
	}()
	return nil
}

// finish takes the result of a save, and reports whether the state in memory is still good: the store may have another one.
func (s *saver) finish(r saveResult) (good bool) {
	s.took += (s.now.Sub(r.began) - s.took) / 8 // What it took of late.
	j := r.job
	alive := j.generation == r.generation
	switch {
	case r.err == nil:
		s.Meter.Count(Saves, "saved")
		j.save.seq = max(j.save.seq, r.seq)
		if alive {
			j.save.revision, j.save.spent = r.revision, r.spent
		}
		return true
	case errors.Is(r.err, ErrConflict):
		s.Meter.Count(Saves, "conflict")
	default:
		s.Meter.Count(Saves, "error") // The write may have happened.
	}
	return !alive
}

// advanced states the transitions since the last save, without waiting for the ack.
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
