package agent

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Expert is an agent. It has no state and may run any number of tasks at once.
type Expert struct {
	config Config
	// order are the indexes of the workflow's steps in the order of execution.
	order []int
	web   *tool.Web
}

// New checks the configuration and makes the expert. Close releases its connections.
func New(c Config) (*Expert, error) {
	if err := c.Faults().OrNil(); err != nil {
		return nil, err
	}
	order, _ := conversation.Order(c.steps()) // Cycles were rejected above.
	if len(c.Workflow) == 0 {
		c.Workflow, order = []Step{{Required: c.Required}}, []int{0}
	}
	return &Expert{config: c, order: order, web: tool.NewWeb(egress.Guard{Allow: c.Allow})}, nil
}

// Close closes idle connections. It is called after all runs have ended.
func (x *Expert) Close() { x.web.Close() }

// Run implements expert.Runner.
func (x *Expert) Run(ctx context.Context, t *expert.Task) task.Ending {
	x, err := x.changed(t.Work.Tools)
	if err != nil {
		return unprepared(err)
	}
	r := &run{Expert: x, task: t, began: time.Now(), live: live{task: t}, asked: map[int]int{}}
	if !x.config.needsWorkspace() {
		return r.run(ctx)
	}
	s := workspace.Settings{Parent: x.config.Workspaces, KeepFailed: x.config.KeepFailed, Artifacts: x.config.Artifacts}
	return workspace.With(ctx, t, s, func(dir string) task.Ending {
		r.dir = dir
		return r.run(ctx)
	})
}

// run is the state of one run of an agent: its tools, its present conversation and its cost.
type run struct {
	*Expert
	task *expert.Task
	dir  string // The workspace; empty if no tool needs one.
	// bench holds the tools of the workbench; nil without any.
	bench Toolbox
	// tracker follows the changes of the workspace; nil without a tool that runs programs.
	tracker *workspace.Tracker
	// all are the tools of the card, and listed their names in its order; tools and names are those of the present conversation.
	all, tools    map[string]tool.Tool
	listed, names []string
	// exchange is the present conversation.
	exchange exchange
	live     live
	// shelf holds the documents that the run may read; nil for none.
	shelf tool.Shelf
	// asked maps the number of a question to the run that got its answer first.
	asked map[int]int
	// tooLong is true if the last answer reached its limit of tokens.
	tooLong bool
	// called are the calls that were made or refused, in order.
	called []events.Called
	// searched counts the searches of the web.
	searched int
	// began is when this process took up the run; before is how long it had lasted until then.
	began  time.Time
	before time.Duration
	// spent is the cost of this run; earlier runs have reported their own.
	spent events.Spent
}

// exchange is what the model calls of a conversation share.
type exchange struct {
	// part names the conversation for people: the id of a step, or evaluationPart; empty for a run with a single conversation.
	part string
	// model is the configured model, advisor that of the advising roles; schema is the wanted form of the result.
	model, advisor string
	schema         json.RawMessage
	// began is the beginning of the conversation, until the first answer. other is the one in the journal, if it differs.
	began, other *beginning
	// careful is true if guesses at the meaning of the model's text do not count, as the rules of the conversation say.
	careful bool
}

// trusted counts JSON that was read from the model's text.
func (r *run) trusted(use, trust string) {
	if r.config.Trusted != nil {
		r.config.Trusted(use, trust)
	}
}

// isCareful reports whether the present conversation is careful.
func (r *run) isCareful() bool { return r.exchange.careful }

// The uses of JSON that a model wrote, for the metrics.
const (
	useTool        = "tool"
	useDeliverable = "deliverable"
	useEvaluation  = "evaluation"
)

// run holds the conversations of a run one after another: the steps of the workflow, then the evaluation.
func (r *run) run(ctx context.Context) task.Ending {
	if r.task.Shelf != nil {
		r.shelf = r.task.Shelf(r.config.Knowledge)
	}
	files, closing, err := r.equip(ctx)
	if err != nil {
		return unprepared(err)
	}
	defer closing()
	heads, err := r.heads(ctx)
	if err != nil {
		return unprepared(err)
	}
	job := r.task.Brief()
	if job != nil {
		job.Complete(nil, conversation.MaxPlanSteps)
	}
	w := &work{brief: conversation.Brief{Prompt: r.config.Prompt, Work: r.task.Work, Job: job, Files: files, Heads: heads}, given: map[string]json.RawMessage{}}
	var last conversation.Ending
	for at := range r.order {
		var over *task.Ending
		if last, over = r.step(ctx, w, at); over != nil {
			return *over
		}
		if last.Outcome != events.Success || last.Incomplete {
			return r.report(&last)
		}
	}
	if r.evaluates() {
		var over *task.Ending
		if last, over = r.evaluate(ctx, w, last); over != nil {
			return *over
		}
	}
	if last.Outcome == events.Success {
		r.reflect(ctx, &last)
	}
	return r.report(&last)
}

// converse holds one conversation. over is set if the run ends before the conversation does.
func (r *run) converse(ctx context.Context, m *conversation.Machine) (ending conversation.Ending, over *task.Ending) {
	for {
		switch c := m.Next(); c.Kind {
		case conversation.Ask:
			fact, park, err := r.ask(ctx, &c)
			if err != nil {
				return ending, new(r.broken(err))
			}
			if park != nil {
				return ending, new(r.parked(park))
			}
			if err := r.goOn(m); err != nil {
				return ending, new(r.broken(err))
			}
			m.Take(fact)
		case conversation.Use:
			facts, park, err := r.use(ctx, &c)
			if err != nil {
				return ending, new(r.cut(err))
			}
			if park != nil {
				return ending, new(r.parked(park))
			}
			for _, fact := range facts {
				m.Take(fact)
			}
		default:
			return c.Ending, nil
		}
	}
}

// goOn lets a conversation that an earlier run began with another opening continue from that opening: with another card, another
// release or another state of the plan, the same journal must still give the same conversation.
func (r *run) goOn(m *conversation.Machine) error {
	was := r.exchange.other
	if was == nil {
		return nil
	}
	r.exchange.other = nil
	was.Rules.Left = r.task.Work.Budget
	again, err := was.machine(was.Rules.Before)
	if err != nil {
		return err
	}
	*m = *again
	return nil
}

// parked gives the work back until the request is closed.
func (r *run) parked(park *events.InputRequested) task.Ending {
	park.Spent = r.spent
	return task.Ending{Park: park}
}

// report returns the ending of the run for that of its last conversation, with the cost and the last calls.
func (r *run) report(e *conversation.Ending) task.Ending {
	return task.Ending{Report: &events.SubJobReported{
		Outcome: e.Outcome, Output: e.Output, Error: e.Fault, Lesson: e.Lesson, RetryAfter: events.Duration(e.RetryAfter), Spent: r.spent,
		Calls: r.called[max(0, len(r.called)-mostTold):],
	}}
}

// cut is the ending of a run whose tool calls were interrupted. If the outcome of a call is unknown, a person is asked.
func (r *run) cut(err error) task.Ending {
	var unclear *unknownOutcome
	if !errors.As(err, &unclear) {
		return r.broken(err)
	}
	e := task.Doubt(r.task.Work, "A call of "+r.task.Work.SubJob+" brought nothing back: "+unclear.why.Error()+".", unclear.calls...)
	e.Park.Spent = r.spent
	return e
}

// broken ends a run that cannot continue. If the run was ended from outside, the loop determines the outcome, but not the
// cost.
func (r *run) broken(err error) task.Ending {
	e := task.Failure(events.CodeUnavailable, "the run cannot go on", err.Error(), "")
	e.Report.Spent = r.spent
	return e
}

// unprepared is the ending of a run that could not start.
func unprepared(err error) task.Ending {
	return workspace.Unfilled(err, "the workspace of the agent could not be prepared")
}

// quoted returns a text as JSON.
func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // A string can always be encoded.
	return raw
}
