package jobtest

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// Schedule is a scripted schedule with the participants in its runs.
type Schedule struct {
	// ID is the schedule's id; "schedule" if empty.
	ID string
	// Spec is the specification; its request is the job of each run.
	Spec schedule.Spec
	// Script provides the participants in a run; its Request and Start are ignored. A stopped run is played again up to the
	// stop.
	Script Script
	// Acts are requests of people: Paused, Resumed, Triggered or Deleted with a *schedule.Word, timed from the creation.
	Acts []Act
	// Start is the virtual time of the creation; zero means the year 2026. For is how long the schedule is played after
	// that; 0 means until nothing is left to happen.
	Start time.Time
	For   time.Duration
	// MaxFacts limits the facts; 0 means 10,000. A schedule that never ends is an error.
	MaxFacts int
}

// Recurrence is the result of playing a schedule.
type Recurrence struct {
	// State is the fold of the facts, which are the schedule's log.
	State schedule.State
	Facts []schedule.Fact
	// Jobs are the jobs of the runs, in the order in which they began.
	Jobs []*Result
}

// saying is a fact that will be published at a given time.
type saying struct {
	at   time.Time
	fact schedule.Fact
}

// calendar simulates log, clock and jobs for one schedule.
type calendar struct {
	Schedule
	names schedule.Names
	plan  *recur.Plan
	facts []schedule.Fact
	now   time.Time
	queue []saying // The facts to come, sorted by time.
	jobs  []*Result
	// began maps the key of a run to the index of its job, with the time at which it began.
	began map[string]int
	at    map[string]time.Time
}

// Run plays the schedule and all its jobs. Errors: events.Faults of the spec, those of a script, and ErrEndless.
func (s Schedule) Run() (*Recurrence, error) {
	if s.ID == "" {
		s.ID = "schedule"
	}
	if s.Start.IsZero() {
		s.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if s.MaxFacts == 0 {
		s.MaxFacts = 10_000
	}
	c := &calendar{Schedule: s, names: schedule.NewNames(events.NewNames("")), now: s.Start, began: map[string]int{}, at: map[string]time.Time{}}
	if err := c.create(); err != nil {
		return nil, err
	}
	for _, act := range s.Acts {
		c.later(s.Start.Add(act.At), schedule.Fact{Kind: act.Kind, Data: act.Data})
	}
	err := c.play()
	return &Recurrence{State: c.plan.State, Facts: c.facts, Jobs: c.jobs}, err
}

func (c *calendar) create() error {
	if faults := c.Spec.Validate(); len(faults) > 0 {
		return faults
	}
	recur.Unattend(&c.Spec.Request)
	f, err := c.store(schedule.Fact{Kind: schedule.Created, Data: &schedule.Creation{Spec: c.Spec}})
	if err != nil {
		return err
	}
	c.plan, _ = recur.Begin(&f, time.LoadLocation) // It was made from its first fact.
	if c.plan.Blocked != "" {
		return &events.Fault{Code: events.CodeInvalid, Field: "schedule", Message: c.plan.Blocked}
	}
	return nil
}

// play executes pending commands, then lets the next fact happen, until nothing is left or the time is up.
func (c *calendar) play() error {
	for {
		if err := c.act(); err != nil {
			return err
		}
		if len(c.queue) == 0 || c.For > 0 && c.queue[0].at.After(c.Start.Add(c.For)) {
			return nil
		}
		if len(c.facts) >= c.MaxFacts {
			return fmt.Errorf("%w: %d facts of schedule %s: say in For how long to watch", ErrEndless, len(c.facts), c.ID)
		}
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.now = next.at
		f, err := c.store(next.fact)
		if err != nil {
			return err
		}
		c.plan.Step(&f)
	}
}
