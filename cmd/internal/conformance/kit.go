package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// Level is how much of the contract a worker keeps.
type Level string

// The levels, the lowest first.
const (
	Basic Level = "basic" // A run may be executed again, which must have no second effect.
	Full  Level = "full"  // A run is never executed twice at once, and a cancellation is obeyed.
)

// Lease is how long a claim of the kit's work holds without renewal.
const Lease = 2 * time.Second

// tidyTime limits the cleanup at the end.
const tidyTime = 30 * time.Second

// owner is the kit's name in journals.
const owner = "kit"

// The SubJobs of the kit's job, one for each piece of work.
const (
	work    = "work"
	closed  = "closed"  // Its run was closed before.
	held    = "held"    // The kit has claimed its run for a time.
	stopped = "stopped" // Its run is cancelled.
)

// Settings configures a test of a worker.
type Settings struct {
	// Card is the card of the expert whose worker is tested.
	Card events.Card
	// Goal and Inputs are the work that the worker gets.
	Goal   string
	Inputs map[string]json.RawMessage
	// Level is how much is checked.
	Level Level
	// Patience limits each piece of work from its issue to its acknowledgement.
	Patience time.Duration
}

// Result is what the test has found out about the worker.
type Result struct {
	// Checks are the rules, in the order of the contract.
	Checks []Check
	// Report is the worker's report; nil if there was none.
	Report *events.SubJobReported
}

// kit is one test of one worker.
type kit struct {
	Settings
	bus *bus.Bus
	job string
}

// Run tests a worker. It returns when everything was observed, or when Patience is over; the issued work is purged. Errors:
// those of the bus, and of ctx.
func Run(ctx context.Context, b *bus.Bus, s Settings) (r Result, err error) {
	if s.Card.Pool == "" {
		s.Card.Pool = events.DefaultPool
	}
	k := &kit{Settings: s, bus: b, job: "kit-" + uuid.NewString()}
	defer func() {
		purge, stop := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer stop()
		err = errors.Join(err, k.quiet(purge), b.Retention().PurgeJob(purge, k.job))
	}()
	if err := k.state(ctx); err != nil {
		return r, err
	}
	first, err := k.issue(ctx, work, nil)
	if err != nil {
		return r, err
	}
	var again *trace
	if first.ended {
		if again, err = k.again(ctx, first); err != nil {
			return r, err
		}
	}
	r.Checks = basic(first, again)
	if at := first.first(reported); at >= 0 {
		r.Report = &first.list[at].report
	}
	if s.Level == Full && len(first.list) > 0 {
		more, err := k.full(ctx, first)
		r.Checks = append(r.Checks, more...)
		return r, err
	}
	return r, nil
}

// quiet returns when everything observed about the job is stored: a message stored after it is acknowledged.
func (k *kit) quiet(ctx context.Context) error {
	m, err := events.Encode(k.bus.Names(), events.Event{
		Kind: events.KindJobAdvanced, ID: k.job + "-quiet", Job: k.job, Key: "0", Source: "jobgraph/kit", Data: &events.JobAdvanced{},
	})
	if err == nil {
		_, err = k.bus.Publish(ctx, m, bus.Expect{})
	}
	if err != nil {
		return fmt.Errorf("end the log of the kit: %w", err)
	}
	return nil
}

// state saves the state that a scheduler would save: runners compare repeated work with it.
func (k *kit) state(ctx context.Context) error {
	type line struct {
		ID     string        `json:"id"`
		Status events.Status `json:"status"`
		Run    int           `json:"run"`
		Open   bool          `json:"open"`
	}
	var lines []line
	for _, id := range []string{work, closed, held, stopped} {
		lines = append(lines, line{id, events.Running, 1, true})
	}
	body, err := json.Marshal(map[string]any{"id": k.job, "status": events.Running, "subjobs": lines})
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	_, err = k.bus.State().Put(ctx, k.job, body, 0)
	return err
}

// full tests how a worker handles journals that have records.
func (k *kit) full(ctx context.Context, first *trace) ([]Check, error) {
	checks := claims(first)
	if k.Card.Pure || Violations(checks) && len(first.records(events.JournalClaimed)) == 0 {
		return checks, nil // Without claims the other rules cannot hold.
	}
	late, err := k.after(ctx, closed, run.Closed(1, "the kit has closed it"), func(t *trace) bool { return t.first(acked) >= 0 })
	if err != nil {
		return checks, err
	}
	other, err := k.after(ctx, held, run.Claimed(1, owner, Lease, 0, run.Effect{}), nil)
	if err != nil {
		return checks, err
	}
	checks = append(checks, closedRun(late), heldRun(other))
	stop, err := k.stop(ctx)
	return append(checks, stop), err
}

// after issues work whose journal already has a record.
func (k *kit) after(ctx context.Context, subjob string, rec events.JournalRecord, done func(*trace) bool) (*trace, error) {
	if _, err := k.bus.Journal(k.job, subjob).Append(ctx, rec, 0); err != nil {
		return nil, err
	}
	t, err := k.issue(ctx, subjob, done)
	if err != nil {
		return nil, err
	}
	t.journal, _, err = k.bus.Journal(k.job, subjob).Read(ctx)
	return t, err
}

// stop issues work, and cancels it as soon as the worker has claimed it, in the way of the scheduler: the run is closed,
// then cancelled. Messages observed before the record was stored were stored before it, so nothing is missed.
func (k *kit) stop(ctx context.Context) (Check, error) {
	var told time.Duration
	var failed error
	claimed := false
	t, err := k.issue(ctx, stopped, func(t *trace) bool {
		if list := t.records(events.JournalClaimed); !claimed && len(list) > 0 {
			claimed, told = true, list[0].at
			failed = k.cancel(ctx, &t.work)
		}
		return failed != nil || t.first(acked) >= 0 || t.first(settled) >= 0
	})
	if err = errors.Join(err, failed); err != nil {
		return Check{}, err
	}
	return cancelled(t, told, claimed), nil
}

func (k *kit) cancel(ctx context.Context, w *events.Work) error {
	const reason = "the kit stops it"
	record, err := json.Marshal(run.Closed(w.Run, reason))
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if _, err := k.bus.Publish(ctx, events.Message{Subject: w.ClaimSubject, Body: record}, bus.Expect{}); err != nil {
		return err
	}
	return k.bus.PublishCore(w.CancelSubject, nil, []byte(`{"run":1,"reason":"`+reason+`"}`))
}

// issue publishes one piece of work and observes until done, or until Patience is over. A nil done means until it is
// reported and acknowledged.
func (k *kit) issue(ctx context.Context, subjob string, done func(*trace) bool) (*trace, error) {
	n := k.bus.Names()
	t := &trace{work: k.order(subjob), subject: n.WorkFor(k.Card.Pool, k.Card.ID, k.job, subjob, 1)}
	return t, k.listen(ctx, t, "1", done)
}

// again publishes the same work once more, as the broker does when an acknowledgement is lost.
func (k *kit) again(ctx context.Context, first *trace) (*trace, error) {
	t := &trace{work: first.work, subject: first.subject}
	return t, k.listen(ctx, t, "2", func(t *trace) bool { return t.first(acked) >= 0 || t.first(settled) >= 0 })
}

func (k *kit) listen(ctx context.Context, t *trace, delivery string, done func(*trace) bool) error {
	n := k.bus.Names()
	ear, err := k.bus.Tap(append(k.bus.Queues().Acks(k.Card.Pool), n.JobEvents(k.job), t.work.ClaimSubject)...)
	if err != nil {
		return err
	}
	defer ear.Close()
	body, err := json.Marshal(t.work)
	if err != nil {
		return fmt.Errorf("write work: %w", err)
	}
	began := time.Now()
	header := events.Header(events.HeaderMsgID, t.work.ReportID+"/"+delivery)
	if t.seq, err = k.bus.Publish(ctx, events.Message{Subject: t.subject, Header: header, Body: body}, bus.Expect{}); err != nil {
		return err
	}
	if done == nil {
		done = (*trace).over
	}
	patience, stop := context.WithTimeout(ctx, k.Patience)
	defer stop()
	for !t.ended {
		m, err := ear.Next(patience)
		if err != nil {
			return ctx.Err() // If only Patience is over, check what was observed.
		}
		t.hear(n, m, time.Since(began))
		t.ended = done(t)
	}
	return nil
}

// order returns the work that a scheduler would issue.
func (k *kit) order(subjob string) events.Work {
	n := k.bus.Names()
	id := run.ID(k.job, subjob, 1)
	b := brief.Brief{
		V: brief.Version, Job: k.job, Request: brief.Request{Goal: k.Goal, Inputs: slices.Sorted(maps.Keys(k.Inputs))},
		Plan: &brief.Plan{Version: 1, Steps: []brief.Step{{ID: subjob, Title: brief.Line(k.Goal, brief.MaxTitle), Status: brief.InProgress}}},
	}
	b.Place, b.Marks = &brief.Place{Step: b.Plan.Steps[0], N: 1, Of: 1}, &brief.Marks{InProgress: 1}
	told, _ := b.Append(nil) // Every part of a brief can be encoded.
	return events.Work{
		Brief: told,
		Kind:  events.WorkExecute, Job: k.job, SubJob: subjob, Run: 1, Attempt: 1, Goal: k.Goal, Inputs: k.Inputs, LifeCycle: 1,
		Spec:          events.SubJob{ID: subjob, Goal: k.Goal, Expert: k.Card.ID, Pool: k.Card.Pool, OutputSchema: k.Card.OutputSchema},
		ReportSubject: n.RunEvent(k.job, events.KindSubJobReported, subjob, 1), ReportID: id, IdempotencyKey: id,
		ClaimSubject: n.JournalOf(k.job, subjob), Lease: events.Duration(Lease), CancelSubject: n.Cancel(k.job, subjob),
		ItemSubject: item.LiveSubjects(n).SubJob(k.job, subjob),
	}
}
