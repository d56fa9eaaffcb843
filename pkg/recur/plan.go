package recur

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Plan is one schedule with its state and what is needed to compute it. Begin makes it from the first fact.
type Plan struct {
	schedule.State
	rule *moment.Rule
	// sent are the commands executed by this process; never stored.
	sent map[Command]bool
}

// Begin makes a schedule from its first fact: Created, or Condensed if older facts were deleted. ok is false for any other
// fact.
func Begin(f *schedule.Fact, zones moment.Zones) (p *Plan, ok bool) {
	p = &Plan{sent: map[Command]bool{}}
	switch d := f.Data.(type) {
	case *schedule.Creation:
		p.State = schedule.State{
			ID: f.ID, Status: schedule.Active, Spec: d.Spec, Digest: d.Digest, By: d.By, Created: f.Time, Seq: f.Seq, Facts: 1,
		}
	case *schedule.State:
		p.State = *d
		p.ID, p.Seq, p.Facts = f.ID, f.Seq, 1
	default:
		return nil, false
	}
	p.prepare(zones)
	if _, made := f.Data.(*schedule.Creation); made {
		p.advance(f.Time)
		p.begin(f)
	}
	return p, true
}

// begin starts the first run at once, if the schedule says so. It counts like a run that a person has triggered.
func (p *Plan) begin(f *schedule.Fact) {
	if p.rule != nil && p.Status == schedule.Active && p.When.FirstRun == moment.FirstNow {
		p.decide(schedule.Run{Key: schedule.TriggerKey(f.Seq), Due: f.Time, Triggered: true, Patient: true}, false)
	}
}

// prepare parses the rule. If that fails, which only a time zone that no longer exists can cause, the schedule is left
// alone.
func (p *Plan) prepare(zones moment.Zones) {
	rule, faults := moment.NewRule(&p.When, p.Created, zones)
	if len(faults) > 0 {
		p.Blocked = faults.Error()
		return
	}
	p.rule = rule
}

// Fires returns when the timer of a due time fires: the due time plus its jitter.
func (p *Plan) Fires(due time.Time) time.Time {
	if p.Jitter <= 0 {
		return due
	}
	h := fnv.New64a()
	h.Write([]byte(p.ID + "/" + schedule.Key(due)))
	return due.Add(time.Duration(h.Sum64() % uint64(p.Jitter)))
}

// Preview returns the next due times, up to most of them.
func (p *Plan) Preview(most int) []time.Time {
	var list []time.Time
	for at := p.Next; p.rule != nil && !at.IsZero() && len(list) < most && !p.beyond(at); at = p.rule.Next(at) {
		list = append(list, at)
	}
	return list
}

func (p *Plan) beyond(due time.Time) bool { return !p.Until.IsZero() && due.After(p.Until) }

// advance finds the next due time after a time, or the end.
func (p *Plan) advance(after time.Time) {
	p.Next = time.Time{}
	if p.Status != schedule.Active || p.rule == nil {
		return
	}
	next := p.rule.Next(after)
	switch {
	case p.MaxRuns > 0 && p.Runs >= p.MaxRuns:
		p.end("it has run as often as it should")
	case next.IsZero():
		p.end("no moment lies ahead")
	case p.beyond(next):
		p.end("its end has come")
	default:
		p.Next = next
	}
}

func (p *Plan) end(why string) { p.Status, p.Reason = schedule.Done, why }

// find returns a run by its key.
func (p *Plan) find(key string) *schedule.Run {
	for i := range p.Recent {
		if p.Recent[i].Key == key {
			return &p.Recent[i]
		}
	}
	return nil
}

// live returns the run whose job is being submitted or is running; there is at most one.
func (p *Plan) live() *schedule.Run {
	return p.first(schedule.RunStarting, schedule.RunRunning)
}

func (p *Plan) first(statuses ...schedule.RunStatus) *schedule.Run {
	for i := range p.Recent {
		if slices.Contains(statuses, p.Recent[i].Status) {
			return &p.Recent[i]
		}
	}
	return nil
}

// waiting counts the runs that wait for another.
func (p *Plan) waiting() int {
	n := 0
	for i := range p.Recent {
		if p.Recent[i].Status == schedule.RunWaiting {
			n++
		}
	}
	return n
}

// add stores a run and returns it.
func (p *Plan) add(r schedule.Run) *schedule.Run {
	r.JobID = schedule.JobID(p.ID, r.Key)
	p.Recent = append(p.Recent, r)
	return &p.Recent[len(p.Recent)-1]
}

// trim drops the oldest ended runs if there are too many, but keeps the one whose result goes to the next run.
func (p *Plan) trim() {
	over, told := 0, ""
	for i := range p.Recent {
		if p.Recent[i].Status.Over() {
			over++
		}
		if p.Previous && p.Recent[i].Status == finished {
			told = p.Recent[i].Key
		}
	}
	p.Recent = slices.DeleteFunc(p.Recent, func(r schedule.Run) bool {
		drop := over > schedule.MaxRecent && r.Status.Over() && r.Key != told
		if drop {
			over--
		}
		return drop
	})
}

// dismiss cancels every waiting run.
func (p *Plan) dismiss(why string) {
	for i := range p.Recent {
		if r := &p.Recent[i]; r.Status == schedule.RunWaiting {
			r.Status, r.Reason = schedule.RunSkipped, why
			if !r.Triggered {
				p.Runs--
				p.Skipped++
			}
		}
	}
}

// follow starts the run that has waited longest, if none is running.
func (p *Plan) follow() {
	if p.live() != nil {
		return
	}
	if next := p.first(schedule.RunWaiting); next != nil {
		next.Status = schedule.RunStarting
	}
}

// failed counts an ended run, and pauses the schedule if too many have failed in a row.
func (p *Plan) failed(status events.Status) {
	switch status {
	case events.Finished:
		p.Failures = 0
	case events.Failed:
		p.Failures++
	}
	if p.MaxFailures > 0 && p.Failures >= p.MaxFailures && p.Status == schedule.Active {
		p.rest(fmt.Sprintf("%d runs in a row have failed", p.Failures))
	}
}

func (p *Plan) rest(why string) {
	p.Status, p.Reason, p.Next = schedule.Rests, why, time.Time{}
	p.dismiss("the schedule was paused")
}
