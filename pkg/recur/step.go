package recur

import (
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Late is how long after its due time a run may begin before it counts as missed.
const Late = time.Minute

// Step applies one fact. A fact that was applied before, or that makes no sense in the present state, changes nothing.
func (p *Plan) Step(f *schedule.Fact) {
	if f.Seq <= p.Seq {
		return
	}
	p.Seq = f.Seq
	p.Facts++
	if f.Fault != nil {
		if f.Fault.Code == events.CodeMustUnderstand {
			p.Blocked = f.Fault.Error()
		}
		return
	}
	if p.Status == schedule.Gone || p.rule == nil && f.Kind != schedule.Deleted {
		return
	}
	p.apply(f)
	p.follow()
	p.trim()
}

func (p *Plan) apply(f *schedule.Fact) {
	switch d := f.Data.(type) {
	case *schedule.Word:
		p.obey(f, d)
	case *schedule.Moved:
		switch f.Kind {
		case schedule.Due:
			p.due(f.Key, f.Time)
		case schedule.Late:
			p.late(f.Key, f.Time)
		default:
			p.started(f, d)
		}
	case *schedule.End:
		p.ended(f, d)
	case *schedule.State:
		p.Facts = 1
	}
}

// obey applies a request of a person.
func (p *Plan) obey(f *schedule.Fact, w *schedule.Word) {
	switch f.Kind {
	case schedule.Paused:
		if p.Status == schedule.Active {
			p.rest(w.Reason)
		}
	case schedule.Resumed:
		if p.Status == schedule.Rests {
			p.Status, p.Reason, p.Failures = schedule.Active, "", 0
			p.advance(f.Time)
		}
	case schedule.Triggered:
		p.decide(schedule.Run{Key: schedule.TriggerKey(f.Seq), Due: f.Time, Triggered: true, Patient: true}, false)
	case schedule.Deleted:
		p.Status, p.Reason, p.Next = schedule.Gone, w.Reason, time.Time{}
		p.dismiss("the schedule was deleted")
	}
}

// due applies the firing of a timer. Only the timer of the next due time counts: any other was armed before a pause.
func (p *Plan) due(key string, now time.Time) {
	if p.Status != schedule.Active || p.Next.IsZero() || key != schedule.Key(p.Next) {
		return
	}
	moment := p.Next
	if now.Sub(p.Fires(moment)) >= Late {
		p.Last = moment
		p.makeUp(moment, now)
		return
	}
	p.Last = moment
	p.run(schedule.Run{Key: key, Due: moment}, false)
	p.advance(moment)
}

// late records that a run did not begin in time: it counts as missed.
func (p *Plan) late(key string, now time.Time) {
	r := p.find(key)
	if p.Status == schedule.Gone || r == nil || r.Status != schedule.RunStarting || r.Patient {
		return
	}
	moment := r.Due
	p.Recent = slices.DeleteFunc(p.Recent, func(r schedule.Run) bool { return r.Key == key })
	p.Runs--
	if p.Status == schedule.Done {
		p.Status, p.Reason = schedule.Active, ""
	}
	p.makeUp(moment, now)
}

// makeUp handles missed due times, the first and all later ones, as the schedule says.
func (p *Plan) makeUp(first, now time.Time) {
	missed, count := p.missed(first, now)
	latest := missed[len(missed)-1]
	if latest.After(p.Last) {
		p.Last = latest
	}
	switch {
	case p.Missed == schedule.MissedSkip || p.Status != schedule.Active:
		p.Skipped += count
	case p.Missed == schedule.MissedAll:
		skipped := count - len(missed)
		p.Skipped += skipped
		for _, at := range missed {
			if p.MaxRuns == 0 || p.Runs < p.MaxRuns {
				p.run(schedule.Run{Key: schedule.Key(at), Due: at, Skipped: skipped, Patient: true}, true)
			}
			skipped = 0
		}
	default:
		p.Skipped += count - 1
		p.run(schedule.Run{Key: schedule.Key(latest), Due: latest, Skipped: count - 1, Patient: true}, false)
	}
	p.advance(p.Last)
}

// mostCounted limits the missed due times that are counted one by one.
const mostCounted = 100_000

// missed returns the latest of the missed due times, beginning with first, and their number.
func (p *Plan) missed(first, now time.Time) (latest []time.Time, count int) {
	latest, count = []time.Time{first}, 1
	for at := p.rule.Next(p.Last); !at.IsZero() && !p.Fires(at).After(now) && !p.beyond(at) && count < mostCounted; at = p.rule.Next(at) {
		latest = append(latest, at)
		count++
		if len(latest) > 2*schedule.MaxWaiting {
			latest = slices.Delete(latest, 0, len(latest)-schedule.MaxWaiting)
		}
	}
	return latest[max(0, len(latest)-schedule.MaxWaiting):], count
}

// run starts the run of a due time. behind is true if it may wait whatever the schedule says about overlaps.
func (p *Plan) run(r schedule.Run, behind bool) {
	if p.decide(r, behind) {
		p.Runs++
	} else {
		p.Skipped++
	}
}

// decide starts a run, makes it wait or skips it. It reports whether there will be a job.
func (p *Plan) decide(r schedule.Run, behind bool) bool {
	live := p.live()
	switch {
	case live == nil && p.waiting() == 0:
		r.Status = schedule.RunStarting
	case behind || p.Overlap == schedule.OverlapQueue:
		r.Status, r.Patient = schedule.RunWaiting, true
		if p.waiting() >= schedule.MaxWaiting {
			r.Status, r.Reason = schedule.RunSkipped, "too many runs wait"
		}
	case p.Overlap == schedule.OverlapReplace:
		p.dismiss("a later run replaces it")
		r.Status, r.Patient = schedule.RunWaiting, true
	default:
		r.Status, r.Reason = schedule.RunSkipped, "an earlier run goes on"
	}
	if live != nil && live.Status == schedule.RunRunning {
		live.Doubted = true
		live.Replaced = live.Replaced || p.Overlap == schedule.OverlapReplace && !behind
	}
	return p.add(r).Status != schedule.RunSkipped
}

// started records that the job of a run was admitted, even if the run was unknown.
func (p *Plan) started(f *schedule.Fact, d *schedule.Moved) {
	r := p.find(f.Key)
	if r == nil {
		due, ok := schedule.Moment(f.Key)
		if !ok || !due.After(p.Last) {
			return
		}
		p.Last = due
		p.Runs++
		r = p.add(schedule.Run{Key: f.Key, Due: d.Due, Status: schedule.RunStarting})
		p.advance(due)
	}
	if r.Status == schedule.RunStarting {
		r.Status, r.Started = schedule.RunRunning, f.Time
		r.Replaced = p.Overlap == schedule.OverlapReplace && p.waiting() > 0
	}
}

// ended records the end of a run. Only its first end counts.
func (p *Plan) ended(f *schedule.Fact, d *schedule.End) {
	r := p.find(f.Key)
	if r == nil || r.Status.Over() {
		return
	}
	r.Status = schedule.RunStatus(d.Status)
	if d.Refused {
		r.Status = schedule.RunRefused
	}
	r.Ended, r.Error, r.Result, r.DurationMS, r.Spent = f.Time, d.Error, d.Result, d.DurationMS, d.Spent
	if r.Started.IsZero() && !d.Refused { // Its job ended before its admission was published.
		r.Started = f.Time.Add(-time.Duration(d.DurationMS) * time.Millisecond)
	}
	r.Replaced, r.Doubted = false, false
	p.failed(d.Status)
}
