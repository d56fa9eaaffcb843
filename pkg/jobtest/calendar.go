package jobtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// act executes the schedule's pending commands, as the scheduler would. It is never late, and no job disappears.
func (c *calendar) act() error {
	for _, o := range c.plan.Pending() {
		c.plan.Sent(o)
		switch o.Action {
		case recur.Arm:
			due, _ := schedule.Moment(o.Key) // The key was made from a due time.
			c.later(o.At, schedule.Fact{Kind: schedule.Due, Key: o.Key, Data: &schedule.Moved{Due: due}})
		case recur.Start:
			c.began[o.Key], c.at[o.Key] = len(c.jobs), c.now
			c.jobs = append(c.jobs, nil)
			c.later(c.now, schedule.Fact{Kind: schedule.Started, Key: o.Key, Data: &schedule.Moved{Due: o.At}})
			if err := c.job(o.Key); err != nil {
				return err
			}
		case recur.Stop:
			c.queue = slices.DeleteFunc(c.queue, func(s saying) bool { return s.fact.Kind == schedule.Ended && s.fact.Key == o.Key })
			stop := Act{At: c.now.Sub(c.at[o.Key]), Kind: events.KindStopRequested, Data: &events.StopRequested{Reason: "a later run replaces it"}}
			if err := c.job(o.Key, stop); err != nil {
				return err
			}
		}
	}
	return nil
}

// job plays the job of a run and queues its end.
func (c *calendar) job(key string, more ...Act) error {
	request, err := c.plan.Job(key, c.result(c.plan.Before(key)))
	if err != nil {
		return err
	}
	script := c.Script
	script.Request, script.Start = request, c.at[key]
	script.Acts = slices.Concat(script.Acts, more)
	result, err := script.Run()
	if err != nil {
		return fmt.Errorf("job %s: %w", request.ID, err)
	}
	c.jobs[c.began[key]] = result
	for i := range result.Events {
		if end, ok := result.Events[i].Data.(*events.JobEnded); ok {
			c.later(result.Events[i].Time, schedule.Fact{Kind: schedule.Ended, Key: key, Data: recur.Outcome(end)})
			return nil
		}
	}
	return nil // It waits for a person, and so do the runs after it.
}

// result returns the result of a run's job, unless it is too large to store with the run.
func (c *calendar) result(r *schedule.Run) json.RawMessage {
	if r == nil || len(c.jobs[c.began[r.Key]].Output) > events.MaxInline {
		return nil
	}
	return c.jobs[c.began[r.Key]].Output
}

// later queues a fact; facts of the same time are published in the order in which they were queued.
func (c *calendar) later(at time.Time, f schedule.Fact) {
	if at.Before(c.now) {
		at = c.now
	}
	place := len(c.queue)
	for place > 0 && c.queue[place-1].at.After(at) {
		place--
	}
	c.queue = slices.Insert(c.queue, place, saying{at, f})
}

// store encodes a fact and decodes it again, so that every test exercises the wire form.
func (c *calendar) store(f schedule.Fact) (schedule.Fact, error) {
	f.ID, f.Source, f.Name = c.ID, source, fmt.Sprintf("%s/%d", c.ID, len(c.facts)+1)
	m, err := schedule.Encode(c.names, f)
	if err != nil {
		return f, err
	}
	back, ok := schedule.Decode(c.names, m)
	switch {
	case !ok:
		return f, errors.New("subject " + m.Subject + " is none of a schedule: its id has to fit")
	case back.Fault != nil:
		return f, fmt.Errorf("%s: %w", f.Kind, back.Fault)
	}
	back.Seq, back.Time = uint64(len(c.facts)+1), c.now
	c.facts = append(c.facts, back)
	return back, nil
}
