package jobtest

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// Schedule is a recurring job with everybody who takes part in its runs.
type Schedule struct {
	// ID is the schedule's; "schedule" when empty.
	ID string
	// Spec says when, what, and how to meet trouble; its request is the job of each run.
	Spec schedule.Spec
	// Script is who takes part in a run. Its Request and Start are not read. A run that is stopped is played once more, up to the stop.
	Script Script
	// Acts are what people say: Paused, Resumed, Triggered or Deleted with a *schedule.Word, counted from the creation.
	Acts []Act
	// Start is the virtual moment of the creation; the year 2026 when zero. For is how long the schedule is watched behind it; until
	// nothing is left to happen when 0.
	Start time.Time
	For   time.Duration
	// MaxFacts bounds the facts, 10,000 when 0: a schedule that never ends is an error.
	MaxFacts int
}

// Recurrence is what came of a schedule.
type Recurrence struct {
	// State is the fold of the facts, which are the schedule's log.
	State schedule.State
	Facts []schedule.Fact
	// Jobs are those of the runs, in the order in which they began.
	Jobs []*Result
}

// saying is a fact that will be stated at a moment.
type saying struct {
	at   time.Time
	fact schedule.Fact
}

// calendar plays log, clock and jobs around one schedule.
type calendar struct {
	Schedule
	names schedule.Names
	plan  *recur.Plan
	facts []schedule.Fact
	now   time.Time
	queue []saying // In the order of their moments.
	jobs  []*Result
	// began says by the key of a run which of the jobs is its, and when that began.
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
	f, err := c.store(schedule.Fact{Kind: schedule.Created, Data: &schedule.Creation{Spec: c.Spec}})
	if err != nil {
		return err
	}
	c.plan, _ = recur.Begin(&f, time.LoadLocation) // It was made of its first fact.
	if c.plan.Blocked != "" {
		return &events.Fault{Code: events.CodeInvalid, Field: "schedule", Message: c.plan.Blocked}
	}
	return nil
}

// play does what is owed, then lets the next thing happen, until nothing is left or the time is over.
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
