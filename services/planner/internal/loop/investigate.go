package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

const (
	// inquiryRun is the only run of a consult request: the planning run decides whether to ask again.
	inquiryRun = 1
	// inquiryType is the CloudEvents type of its work message, the same as that of any SubJob.
	inquiryType = "io.jobgraph.subjob.issued.v1"
	// maxFinding limits one expert's answer, in bytes; prompts use less.
	maxFinding = 256 << 10
	// grace is how long to read reports that may exist already, if the time was up before this planner took over.
	grace = 2 * time.Second
	// closeBound limits how long withdrawing consult requests may take.
	closeBound = 2 * time.Second
)

// errLate means that the investigation exceeded its time limit.
var errLate = errors.New("the investigation took too long")

// consultation is one expert asked before planning, with its answer.
type consultation struct {
	card   *events.Card
	work   events.Work
	report *events.SubJobReported
	err    error
}

// investigate asks experts in the way in which SubJobs do: with work on the bus and a report on the log. The work is not
// part of the graph, which does not exist yet, so the scheduler ignores its report; claim, journal and cancellation work as
// for any run. Its identity consists of the planning run and the command: asking again after a crash finds the work or its
// report, so that no model is paid twice. Failures are recorded in the fact, and planning continues without these findings.
func (t *planningRun) investigate(c *planning.Command) (planning.Fact, error) {
	ctx, leave := context.WithCancelCause(t.ctx)
	defer leave(nil)
	defer context.AfterFunc(t.intake, func() { leave(errDraining) })()
	late := t.record.since(c.Key).Add(c.Look.Limit.Std())
	if soonest := time.Now().Add(grace); late.Before(soonest) {
		late = soonest
	}
	waiting, stop := context.WithDeadlineCause(ctx, late, errLate)
	defer stop()
	fact := planning.Fact{Kind: planning.Failed, Class: planning.ClassUnavailable}
	if c.Look.Expert == "" && c.Look.Wanted != "" {
		fact.Faults = append(fact.Faults, events.Fault{
			Code: events.CodeUnknownExpert, Message: fmt.Sprintf("there was no investigation before planning: no expert is called %.80q, or can do it", c.Look.Wanted),
			Hint: "start a runner with such an expert, or name another one in the profile's investigate",
		})
	}
	list := t.inquiries(c, late)
	for i := range list {
		t.announce(&list[i])
		if err := t.loop.Dispatcher.Issue(ctx, t.message(&list[i].work), list[i].work.ReportSubject); err != nil {
			return fact, t.withdrawn(list, cause(ctx, fmt.Errorf("ask %s: %w", list[i].card.ID, err)))
		}
	}
	t.wait(waiting, list)
	for i := range list {
		if q := &list[i]; q.err == nil { // Its cost is due even if the others fail.
			fact.Spent = graph.AddSpent(fact.Spent, q.report.Spent)
		}
	}
	for i := range list {
		q := &list[i]
		switch {
		case q.err == nil:
			q.err = cause(ctx, t.hear(ctx, &fact, q))
		case errors.Is(q.err, errLate):
			t.close(list[i:i+1], errLate.Error())
			fact.Faults = append(fact.Faults, failed(q, events.CodeTimeout, fmt.Sprintf("no answer within %s", c.Look.Limit.Std())))
			q.err = nil
		}
		if q.err != nil {
			return fact, t.withdrawn(list, q.err)
		}
	}
	if len(fact.Findings) > 0 {
		fact.Kind, fact.Class = planning.Found, ""
	}
	return fact, nil
}

// wait waits for all reports concurrently, so that a slow expert takes no time from the others.
func (t *planningRun) wait(ctx context.Context, list []consultation) {
	var all sync.WaitGroup
	for i := range list {
		q := &list[i]
		all.Go(func() { // Ends with the report, at the latest when ctx ends.
			q.report, q.err = t.loop.Dispatcher.Report(ctx, q.work.ReportSubject)
			q.err = cause(ctx, q.err)
		})
	}
	all.Wait()
}

// cause replaces an error that the end of ctx brought about by the cause of that end.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil {
		return why
	}
	return err
}

// withdrawn closes the consult requests if the run was cancelled, because no planner waits for them any more. In every
// other case another planner continues.
func (t *planningRun) withdrawn(list []consultation, err error) error {
	var stop *cancelled
	if errors.As(err, &stop) {
		t.close(list, stop.reason)
	}
	return err
}

// close fences consult requests and ends their runs.
func (t *planningRun) close(list []consultation, reason string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(t.ctx), closeBound)
	defer stop()
	var all sync.WaitGroup
	for i := range list {
		w := &list[i].work
		all.Go(func() { // Ends when one run is closed.
			if err := t.loop.Dispatcher.Close(ctx, w, reason); err != nil {
				t.loop.log(t.w).Warn("cannot withdraw a consult request; its timeout will end it", "expert", w.Spec.Expert, "error", err)
			}
		})
	}
	all.Wait()
}

// inquiries builds the work of all experts to ask.
func (t *planningRun) inquiries(c *planning.Command, late time.Time) []consultation {
	var list []consultation
	cards := t.planning.State().Cards
	for _, id := range append([]string{c.Look.Expert}, c.Look.Status...) {
		at := slices.IndexFunc(cards, func(card events.Card) bool { return id != "" && card.ID == id })
		if at < 0 {
			continue
		}
		list = append(list, consultation{card: &cards[at], work: t.work(c, &cards[at], len(list)+1, late)})
	}
	return list
}

// work builds the work for one expert. Its SubJob is named after the planning run, the command and the expert's index.
func (t *planningRun) work(c *planning.Command, card *events.Card, n int, late time.Time) events.Work {
	r, names := &t.start.Request, t.loop.Names
	id := fmt.Sprintf("%s~%d~%s-%d", t.w.SubJob, t.w.Run, strings.ReplaceAll(c.Key, "/", "-"), n)
	pool := card.Pool
	if pool == "" {
		pool = events.DefaultPool
	}
	if !t.w.Deadline.IsZero() && t.w.Deadline.Before(late) {
		late = t.w.Deadline
	}
	limit, facts := c.Look.Limit, ""
	if t.loop.Pooled {
		facts = pool
	}
	w := events.Work{
		Kind: events.WorkExecute, Job: t.w.Job, SubJob: id, Run: inquiryRun, Attempt: 1,
		Spec: events.SubJob{ID: id, Goal: c.Look.Query, Context: r.Context, Expert: card.ID, ExpertName: card.Name, Pool: pool, Pure: card.Pure, Timeout: &limit},
		Goal: c.Look.Query, Context: r.Context, Inputs: r.Inputs, InputsRef: r.InputsRef, Attachments: r.Attachments,
		Deadline: late, Session: r.Session, User: r.User, Locale: t.planning.State().Locale,
		Brief: t.w.Brief, BriefRef: t.w.BriefRef,
		ReportSubject:  names.RunEventOf(t.w.Job, events.KindSubJobReported, id, inquiryRun, facts),
		IdempotencyKey: jobrun.ID(jobrun.IncarnationOf(t.w), id, inquiryRun),
		ClaimSubject:   names.JournalOf(t.w.Job, id), Lease: events.Duration(leaseOf(t.w)), CancelSubject: names.Cancel(t.w.Job, id),
		ItemSubject: item.LiveSubjects(names).In(t.w.Job, id, facts),
	}
	w.ReportID = w.IdempotencyKey
	if t.loop.Pooled {
		if _, ok := t.loop.Journaled(); ok { // An import does not know this pool, and may have written records without one.
			w.ClaimSubject, w.Former = names.JournalIn(t.w.Job, id, pool), []events.Tenure{{Run: inquiryRun}}
		}
	}
	if !r.Tools.IsZero() {
		w.Tools = &r.Tools
	}
	return w
}

// announce shows that an expert is consulted. Where facts name the pool, it says whose live items those of the run are: the log does not
// contain such runs.
func (t *planningRun) announce(q *consultation) {
	if !t.loop.Pooled || t.loop.Items == nil {
		return
	}
	if s := t.loop.Items(t.w.Job, q.work.SubJob, q.work.Run); s != nil {
		s.Show(item.Item{Type: item.Progress, ID: "consulted", Pool: q.work.Spec.Pool, Text: q.card.Name + " is asked before planning", Done: true})
		s.End(true)
	}
}

// message encodes a piece of work.
func (t *planningRun) message(w *events.Work) events.Message {
	id := jobrun.WorkID(jobrun.IncarnationOf(w), w.SubJob, w.Run)
	header := events.Header(events.HeaderSpec, "1.0", events.HeaderID, id, events.HeaderSource, source,
		events.HeaderType, inquiryType, events.HeaderMsgID, id)
	if parent := t.d.Trace; parent != "" {
		header[events.HeaderTrace] = []string{parent}
	}
	body, err := events.Marshal(w)
	if err != nil {
		panic("encode work: " + err.Error()) // Cannot happen: the parts were decoded from JSON.
	}
	return events.Message{Subject: t.loop.Names.WorkFor(w.Spec.Pool, w.Spec.Expert, w.Job, w.SubJob, w.Run), Header: header, Body: body}
}

// hear adds an expert's report to the fact.
func (t *planningRun) hear(ctx context.Context, fact *planning.Fact, q *consultation) error {
	r := q.report
	if r.Outcome != events.Success {
		reason := r.Lesson
		if r.Error != nil {
			reason = r.Error.Error()
		}
		if reason == "" {
			reason = string(r.Outcome)
		}
		fact.Faults = append(fact.Faults, failed(q, events.CodeExecution, reason))
		return nil
	}
	output := []byte(r.Output)
	if r.OutputRef != nil {
		var err error
		output, err = t.loop.Blobs.Get(ctx, t.w.Job, r.OutputRef.Digest)
		if errors.Is(err, store.ErrNotFound) {
			fact.Faults = append(fact.Faults, failed(q, events.CodeMissingBlob, "its result is gone"))
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what %s found: %w", q.card.ID, err)
		}
	}
	fact.Findings = append(fact.Findings, planning.Finding{Source: q.card.Name, Title: q.work.Goal, Text: said(output)})
	return nil
}

// said returns an output as text, cut if it is too large.
func said(output []byte) string {
	text := string(output)
	var plain string
	if json.Unmarshal(output, &plain) == nil {
		text = plain
	}
	return clip.Marked(text, maxFinding)
}

// failed returns the warning that an expert found nothing.
func failed(q *consultation, code events.Code, cause string) events.Fault {
	return events.Fault{
		Code: code, Message: fmt.Sprintf("%s found nothing before planning", q.card.ID), Cause: cause,
		Hint: "the plan was made without it; see subjob.reported of " + q.work.SubJob,
	}
}
