package loop

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// saveResult is how a save ended.
type saveResult struct {
	job      *job
	life     int
	seq      uint64
	revision uint64
	spent    events.Spent
	began    time.Time
	err      error
}

// save puts the touched jobs whose save is due in line, and begins as many saves as there is room for. When too much is
// unacknowledged every job is put in line, due or not.
func (p *Partition) save(ctx context.Context) error {
	forced := p.ledger.open >= p.MaxOpen && len(p.line) == 0
	if forced {
		for j := range p.waiting {
			p.queue(j)
		}
	}
	for _, j := range p.touched {
		if forced || p.saveable(j) && p.due(j) {
			p.queue(j)
		}
	}
	return p.serve(ctx)
}

// queue puts a job in line for its save.
func (p *Partition) queue(j *job) {
	if !j.inLine && p.saveable(j) {
		j.inLine = true
		p.line = append(p.line, j)
	}
}

// serve begins the saves of those in line while there is room. What became of a job meanwhile is looked at again.
func (p *Partition) serve(ctx context.Context) error {
	for p.saving < p.Parallel && len(p.line) > 0 {
		j := p.line[0]
		p.line[0] = nil
		p.line, j.inLine = p.line[1:], false
		if !p.saveable(j) {
			continue
		}
		if err := p.beginSave(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// saveAll begins every save that is possible.
func (p *Partition) saveAll(ctx context.Context) error {
	for _, j := range p.jobs {
		if p.saveable(j) && p.saving < p.Parallel {
			if err := p.beginSave(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// saveable reports whether a save is possible: one that covers events whose commands were not delivered would lose them.
func (p *Partition) saveable(j *job) bool {
	return j.state != nil && j.dirty > 0 && !j.saving && !j.owing && !j.flying && j.fault == nil
}

// due decides when: at once when the job is at rest; in motion the less often the larger it is, the more of them are and the longer
// a save takes.
func (p *Partition) due(j *job) bool {
	if j.resting() {
		return true
	}
	scale := 1 + j.size/p.SaveScale
	if j.dirty >= p.SaveEvery*scale {
		return true
	}
	after := p.SaveAfter * time.Duration(scale+len(p.waiting)/p.CacheJobs*4)
	return p.now.Sub(j.since) >= min(max(after, savePause*p.saveTook), p.SaveLatest)
}

// savePause is how many times longer than a save takes a job in motion goes without one: on a store that makes each write durable
// before it acknowledges it, saves would take the room of the events in it.
const savePause = 32

// beginSave states the transitions since the last save and writes the state, in a goroutine that ends with the write.
func (p *Partition) beginSave(ctx context.Context, j *job) error {
	if err := p.advanced(j); err != nil {
		return err
	}
	if err := p.at(AtSave); err != nil {
		return err
	}
	data, err := marshal(j.state)
	if err != nil {
		p.quarantine(ctx, j, events.Fault{
			Code: events.CodeInternal, Message: "the state cannot be written", Cause: err.Error(),
			Hint: "please report it with `jobgraph export " + j.id + "`",
		})
		return nil
	}
	r := saveResult{job: j, life: j.life, seq: j.state.Seq, spent: j.state.Cost, began: p.now}
	kept := Saved{State: data, Revision: j.revision, Session: j.state.Session, Before: j.spent, Spent: r.spent}
	if j.state.Session != "" {
		kept.Talk = talkOf(j.state.View())
	}
	j.saving, j.dirty, j.size = true, 0, len(data)
	p.saving++
	go func() {
		r.revision, r.err = p.States.Save(ctx, r.job.id, kept, nil)
		p.saved <- r // Has room for every save there can be.
	}()
	return nil
}

// finishSave takes the result of a save: what it covers may be acknowledged, and the next in line has its turn.
func (p *Partition) finishSave(ctx context.Context, r saveResult) error {
	p.saving--
	j := r.job
	j.saving = false
	if err := p.at(AtSaved); err != nil {
		return err
	}
	p.now = time.Now()
	p.saveTook += (p.now.Sub(r.began) - p.saveTook) / 8 // What it took of late.
	alive := j.life == r.life
	switch {
	case r.err == nil:
		p.Meter.Count(Saves, "saved")
		j.savedSeq = max(j.savedSeq, r.seq)
		if alive {
			j.revision, j.spent = r.revision, r.spent
		}
	case errors.Is(r.err, ErrConflict):
		p.Meter.Count(Saves, "conflict")
		if alive {
			j.forget()
			p.postpone(j, r.err)
			j.retryAt = p.now
		}
	default:
		p.Meter.Count(Saves, "error")
		if alive {
			j.forget() // The write may have happened.
			p.postpone(j, r.err)
		}
	}
	p.cover(j)
	if j.busy() {
		p.await(j)
	}
	if p.saveable(j) && p.due(j) {
		p.queue(j)
	}
	p.dismiss(j)
	if err := p.serve(ctx); err != nil {
		return err
	}
	return p.acknowledge()
}

// cover releases the receipts that a save covers. Those that were looked at under the same save are not looked at again.
func (p *Partition) cover(j *job) {
	if j.loading {
		return // It stands behind a save of which nobody here knows what it owes.
	}
	if j.guarded {
		if j.state == nil || j.late() || j.flying || j.owing {
			return
		}
		j.unguard()
	}
	clean := j.state != nil && j.dirty == 0 && !j.saving && !j.owing && !j.flying
	from := 0
	if !clean && j.savedSeq == j.lookedSeq {
		from = min(j.looked, len(j.unacked))
	}
	kept := j.unacked[:from]
	for _, r := range j.unacked[from:] {
		if clean || r.seq <= j.savedSeq {
			p.ledger.cover(r)
			continue
		}
		kept = append(kept, r)
	}
	clear(j.unacked[len(kept):])
	j.unacked, j.looked, j.lookedSeq = kept, len(kept), j.savedSeq
}

// advanced states the transitions since the last save; nobody waits for it.
func (p *Partition) advanced(j *job) error {
	transitions := j.state.Transitions()
	for part := 0; len(transitions) > 0; part++ {
		if err := p.at(AtAdvanced); err != nil {
			return err
		}
		now := transitions[:min(len(transitions), mostTransitions)]
		transitions = transitions[len(now):]
		key := strconv.FormatUint(j.state.Seq, 10)
		if part > 0 {
			key += "-" + strconv.Itoa(part)
		}
		m, err := events.Encode(p.Names, events.Event{
			Kind: events.KindJobAdvanced, ID: run.FactID(j.id, events.KindJobAdvanced, key), Job: j.id, Key: key, Source: source,
			Data: &events.JobAdvanced{From: j.savedSeq, To: j.state.Seq, Transitions: now},
		})
		if err != nil {
			return err
		}
		p.Publisher.Publish(m, Expect{})
		p.Meter.Count(Published, string(events.KindJobAdvanced))
	}
	return nil
}

// mostTransitions keeps one job.advanced within a message.
const mostTransitions = 1000

// dismiss drops a job from memory of which nothing more is expected.
func (p *Partition) dismiss(j *job) {
	if j.over() && !j.busy() && !j.queued && p.jobs[j.id] == j {
		p.ended.add(j.id, j.state.Seq)
		j.leaveLanes()
		delete(p.jobs, j.id)
		delete(p.waiting, j)
		p.facts.forget(j.kept)
	}
}

// evict drops jobs that have been quiet, once there are too many. What they need is in the store.
func (p *Partition) evict() {
	if len(p.jobs) <= p.CacheJobs {
		return
	}
	looked := 0
	for id, j := range p.jobs {
		if looked++; looked > 16 {
			return // A little each turn: the order of a map is as good as any.
		}
		if !j.busy() && j.fault == nil && !j.queued && p.now.Sub(j.used) > time.Minute {
			j.leaveLanes()
			delete(p.jobs, id)
			p.facts.forget(j.kept)
		}
	}
}
