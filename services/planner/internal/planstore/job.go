package planstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// jobField is the field of the fault of a job that does not exist.
const jobField = "job"

// onJob does an operation on the graph of a job.
func (s *Store) onJob(ctx context.Context, b *plan.Book, job string, op plan.Operation) (Reply, error) {
	if !events.ValidToken(job) {
		return Reply{}, unknown(job)
	}
	chart, err := s.chart(ctx, job)
	if err != nil {
		return Reply{}, err
	}
	said := ""
	switch op.Command {
	case plan.OpGet:
	case plan.OpSetActive:
		b.Active = plan.JobPrefix + job
		said = fmt.Sprintf("The graph of job %q is the active plan now.\n\n", job)
	case plan.OpMarkStep:
		chart, err = s.tell(ctx, job, chart, op, func(c *plan.Chart) ([]plan.Control, error) {
			if op.Executor() != nil {
				return c.MarkFrom(op)
			}
			return c.Mark(op)
		})
		said = fmt.Sprintf("A step of job %q was marked.\n\n", job)
	case plan.OpUpdate:
		cards, _ := s.cards.Cards()
		chart, err = s.tell(ctx, job, chart, op, func(c *plan.Chart) ([]plan.Control, error) {
			if op.Executor() != nil {
				return c.Refine(op, cards, s.options)
			}
			return c.Revise(op, cards, s.options)
		})
		said = fmt.Sprintf("The graph of job %q was updated.\n\n", job)
	case plan.OpFinish:
		chart, err = s.tell(ctx, job, chart, op, func(c *plan.Chart) ([]plan.Control, error) { return c.EndEarly(op) })
		said = fmt.Sprintf("Job %q ends with what has begun: the other steps are skipped.\n\n", job)
	default:
		err = &events.Fault{
			Code: events.CodeConflict, Field: "plan_id", Message: fmt.Sprintf("%q is the graph of a job", job), Hint: "jobgraph delete " + job + " removes the job with it, once it has ended",
		}
	}
	if err != nil {
		return Reply{}, err
	}
	board, place := chart.BoardFor(op)
	var request json.RawMessage
	if op.Command == plan.OpGet && op.Executor() == nil {
		if request, err = s.executed(ctx, job); err != nil {
			return Reply{}, err
		}
	}
	return Reply{
		Request: request,
		Text:    said + board.String() + place, Plan: &board, Active: b.Active, JobID: job, Status: chart.Job.Status, PlanVersion: chart.Job.PlanVersion,
	}, nil
}

func unknown(job string) *events.Fault {
	return &events.Fault{Code: events.CodeNotFound, Field: jobField, Message: fmt.Sprintf("there is no job %.80q", job), Hint: "jobgraph list"}
}

// mostExecuted is the largest plan with its results in a reply, in bytes.
const mostExecuted = 256 << 10

// executed returns the graph of a job as a plan with the results of its steps; nil if it has no graph yet, or one that is too
// large for a reply.
func (s *Store) executed(ctx context.Context, job string) (json.RawMessage, error) {
	log, err := joblog.Fold(joblog.Resolved(s.bus.Log().EventsOf(ctx, job, 0), s.bus.Blobs().Of(ctx, job)), 0)
	if err != nil || log.Job == nil {
		return nil, err
	}
	p := log.Executed()
	if p == nil {
		return nil, nil
	}
	text, err := events.Marshal(p)
	if err != nil || len(text) > mostExecuted {
		return nil, err
	}
	return text, nil
}

// chart folds the log of a job.
func (s *Store) chart(ctx context.Context, job string) (*plan.Chart, error) {
	chart := &plan.Chart{}
	for e, err := range joblog.Resolved(s.bus.Log().EventsOf(ctx, job, 0), s.bus.Blobs().Of(ctx, job)) {
		if err == nil {
			_, err = chart.Step(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if chart.Job == nil {
		return nil, unknown(job)
	}
	return chart, nil
}

// tell tries facts on the present state of a job, and publishes them if there is no newer request about it. It returns the job with
// them. What the scheduler would ignore is refused with its reason, and so is an operation of a run that is over.
func (s *Store) tell(ctx context.Context, job string, chart *plan.Chart, op plan.Operation, ask func(*plan.Chart) ([]plan.Control, error)) (*plan.Chart, error) {
	for try := 0; ; try++ {
		err := chart.Entitled(op)
		var facts []plan.Control
		if err == nil {
			facts, err = ask(chart)
		}
		if err == nil {
			err = s.state(ctx, job, chart, op, facts)
		}
		if !errors.Is(err, bus.ErrConflict) {
			return chart, err
		}
		if try == tries {
			return nil, &events.Fault{Code: events.CodeConflict, Message: "others ask for changes of job " + job + " at the same time", Hint: "try again"}
		}
		if chart, err = s.chart(ctx, job); err != nil {
			return nil, err
		}
	}
}

// state publishes facts in their order. The first of several is the control event: once that is stored, the rest is published
// whatever else happens to the job.
func (s *Store) state(ctx context.Context, job string, chart *plan.Chart, op plan.Operation, facts []plan.Control) error {
	for i, fact := range facts {
		fact.Attribute(op.By)
		key := rand.Text()
		if x := op.Executor(); x != nil && x.Key != "" { // A repeated call publishes the same fact.
			key = fmt.Sprintf("%s/%d", x.Key, i)
		}
		e := events.Event{
			Kind: fact.Kind, ID: run.FactID(job, fact.Kind, key), Job: job, SubJob: fact.SubJob, Run: fact.Run,
			Source: plan.Hand, Data: fact.Data,
		}
		m, err := s.encode(ctx, e)
		if err != nil {
			return err
		}
		expect := bus.Expect{}
		if fact.SubJob == "" {
			expect = bus.ExpectLast(chart.Job.ControlSeq)
		}
		e.Seq, e.Time = chart.Job.Seq+1, time.Now().UTC()
		effect, err := chart.Step(e)
		if err != nil {
			return err
		}
		if effect.Verdict == graph.Ignored {
			return &events.Fault{Code: events.CodeConflict, Message: fmt.Sprintf("%s of job %s: %s", fact.Kind, job, effect.Reason), Hint: "jobgraph get " + job}
		}
		m.Header[events.HeaderMsgID] = []string{e.ID}
		_, err = s.bus.Publish(ctx, m, expect)
		if errors.Is(err, bus.ErrConflict) && i > 0 {
			err = fmt.Errorf("note what was done: %w", bus.ErrUnknown)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encode writes an event; a large plan goes by reference.
func (s *Store) encode(ctx context.Context, e events.Event) (events.Message, error) {
	if d, ok := e.Data.(*events.PlanEdited); ok {
		text, err := events.Marshal(d.Plan)
		if err != nil {
			return events.Message{}, err
		}
		if len(text) > events.MaxInline {
			ref, err := s.bus.Blobs().Put(ctx, e.Job, text)
			if err != nil {
				return events.Message{}, err
			}
			e.Data = &events.PlanEdited{PlanVersion: d.PlanVersion, PlanRef: &ref, By: d.By}
		}
	}
	return events.Encode(s.bus.Names(), e)
}
