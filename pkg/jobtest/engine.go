package jobtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// source is the CloudEvents source of all events of this package.
const source = "jobgraph/jobtest"

// happening is an event that will be appended to the log at a given time.
type happening struct {
	at    time.Time
	order int
	// run is the run that the event ends, "" for other events; closing the run removes the happening.
	run   string
	event events.Event
}

// engine simulates log, clock, planner and workers for one job.
type engine struct {
	script Script
	// request is the request with its id.
	request events.Request
	names   events.Names
	log     *joblog.Log
	now     time.Time
	start   time.Time
	queue   []happening
	orders  int
	runs    []Run
	plans   int
	output  []byte
	brief   joblog.JobBrief
	briefer joblog.Briefer
	err     error
}

// Run plays the script until nothing is left to happen.
func (s Script) Run() (*Result, error) {
	g := &engine{script: s, names: events.NewNames(""), log: joblog.New(), start: s.Start, briefer: joblog.Briefer{Whole: true}}
	if g.start.IsZero() {
		g.start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	g.now = g.start
	if err := g.admit(); err != nil {
		return nil, err
	}
	for _, act := range s.Acts {
		g.later(g.start.Add(act.At), "", events.Event{Kind: act.Kind, Key: act.Key, Data: act.Data})
	}
	g.play()
	return &Result{
		State: *g.log.Job.View(), Events: g.log.Events, Runs: g.runs, Elapsed: g.now.Sub(g.start), Output: g.output,
	}, g.err
}

func (g *engine) admit() error {
	rules := DefaultRules()
	if g.script.Rules != nil {
		rules = *g.script.Rules
	}
	request := g.script.Request
	if request.ID == "" {
		request.ID = "job"
	}
	g.request = request
	return g.store(events.Event{
		Kind: events.KindJobRequested, Job: request.ID, Data: &events.JobRequested{Request: request, Rules: rules},
	})
}

// play sends the pending commands, then lets the next event happen, until nothing is left.
func (g *engine) play() {
	most := g.script.MaxEvents
	if most == 0 {
		most = 100_000
	}
	for g.deliver(); len(g.queue) > 0 && g.err == nil; g.deliver() {
		if len(g.log.Events) >= most {
			g.err = fmt.Errorf("%w: %d events", ErrEndless, len(g.log.Events))
			return
		}
		next := g.queue[0]
		g.queue = g.queue[1:]
		if next.at.After(g.now) {
			g.now = next.at
		}
		g.tell(next.event)
	}
}

func (g *engine) deliver() {
	for g.err == nil {
		commands := g.log.Job.Pending()
		if len(commands) == 0 {
			return
		}
		for _, c := range commands {
			g.log.Job.Sent(c.CommandID)
			g.do(c)
		}
	}
}

// do executes one command, like the scheduler's loop and the services behind it.
func (g *engine) do(c graph.Command) {
	switch c.Kind {
	case graph.RunSubJob:
		g.work(c)
	case graph.CloseRun:
		run := runName(c.SubJob, c.Run)
		g.queue = slices.DeleteFunc(g.queue, func(h happening) bool { return h.run == run })
		g.later(g.now, "", events.Event{Kind: events.KindSubJobClosed, SubJob: c.SubJob, Run: c.Run, Data: &events.SubJobClosed{}})
	case graph.ArmTimer:
		g.later(c.At, "", events.Event{Kind: events.KindTimerFired, Key: c.Key, Data: &events.TimerFired{Timer: c.Key, Due: c.At}})
	case graph.CloseInput:
		g.later(g.now, "", events.Event{Kind: c.Fact, Key: c.Key, Data: c.Data})
	case graph.StateFact:
		g.later(g.now, "", events.Event{Kind: c.Fact, Key: factKey(c), Data: c.Data})
	case graph.EndJob:
		var ended events.JobEnded
		if data, ok := c.Data.(*events.JobEnded); ok {
			ended = *data
		}
		ended.Result = g.combine(c.Tails)
		g.output = ended.Result
		g.forgetTimers()
		g.later(g.now, "", events.Event{Kind: c.Fact, Data: &ended})
	}
}

// forgetTimers drops armed timers when a job ends, as the scheduler purges them.
func (g *engine) forgetTimers() {
	g.queue = slices.DeleteFunc(g.queue, func(h happening) bool { return h.event.Kind == events.KindTimerFired })
}

// later queues an event; events of the same time happen in the order in which they were queued.
func (g *engine) later(at time.Time, run string, e events.Event) {
	g.orders++
	h := happening{at: at, order: g.orders, run: run, event: e}
	place, _ := slices.BinarySearchFunc(g.queue, h, func(a, b happening) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.order - b.order
	})
	g.queue = slices.Insert(g.queue, place, h)
}

// tell appends an event to the log and folds it.
func (g *engine) tell(e events.Event) {
	e.Job = g.log.Job.ID
	g.err = g.store(e)
}

// store encodes an event and decodes it again, so that every test exercises the wire form, and folds it.
func (g *engine) store(e events.Event) error {
	g.now = g.now.Add(time.Microsecond)
	e.Source = source
	e.ID = fmt.Sprintf("%s/%d", e.Job, len(g.log.Events)+1)
	m, err := events.Encode(g.names, e)
	if err != nil {
		return err
	}
	back, ok := events.Decode(g.names, m)
	if !ok {
		return fmt.Errorf("subject %q of %s does not belong to the log", m.Subject, e.Kind)
	}
	if back.Fault != nil && e.Kind != events.KindSubJobReported {
		return fmt.Errorf("%s: %w", e.Kind, back.Fault)
	}
	back.Seq, back.Time = uint64(len(g.log.Events)+1), g.now
	return g.log.Step(back)
}

func runName(subjob string, run int) string { return fmt.Sprintf("%s/%d", subjob, run) }
