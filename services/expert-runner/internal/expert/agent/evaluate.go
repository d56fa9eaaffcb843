package agent

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Evaluator configures the evaluation of an agent's results.
type Evaluator struct {
	// On enables the evaluation.
	On bool
	// Model is the configured name of the evaluating model, the agent's if empty. Prompt contains additional instructions.
	Model, Prompt string
}

// evaluationPart is the name of the evaluator's conversation in the journal.
const evaluationPart = "evaluation"

// evaluation limits an evaluator's answers: one, and another one in the right form.
const evaluation = 2

// evaluates reports whether the result is evaluated, according to the job, else to the card.
func (r *run) evaluates() bool {
	if asked := r.task.Work.Evaluator; asked != nil {
		return *asked
	}
	return r.config.Evaluator.On
}

// evaluate has a result evaluated in a further conversation, without tools. It does not count against the budget of turns
// and tokens, which may be used up by then.
func (r *run) evaluate(ctx context.Context, w *work, result conversation.Ending) (ending conversation.Ending, over *task.Ending) {
	inputs := len(r.task.Work.Results) > 0
	r.lend([]string{})
	model := cmp.Or(r.config.Evaluator.Model, r.config.Model)
	r.exchange = exchange{part: evaluationPart, model: model, schema: conversation.EvaluationSchema(inputs)}
	brief := w.brief
	brief.Prompt = r.config.Evaluator.Prompt
	opening := conversation.Evaluating(&brief, result.Output)
	rules := conversation.Rules{
		Before: conversation.Before{Questions: w.had.Questions}, Turns: evaluation, Context: r.config.Context, Structured: true, Careful: true,
		Read: evaluationReader(inputs, r.isCareful, r.trusted),
	}
	r.exchange.began = &beginning{Part: evaluationPart, Judges: true, Inputs: inputs, Rules: rules, Opening: opening}
	if ending, over = r.converse(ctx, conversation.New(rules, opening)); over != nil {
		return ending, over
	}
	ending, err := judged(result, ending)
	if err != nil {
		return ending, new(r.broken(err))
	}
	return ending, nil
}

// unjudged begins the description of a failed evaluation.
const unjudged = "the result could not be evaluated: "

// judged returns the ending of a run whose result was evaluated.
func judged(result, ending conversation.Ending) (conversation.Ending, error) {
	if ending.Outcome != events.Success {
		fault := *ending.Fault
		fault.Message = unjudged + fault.Message
		ending.Fault, ending.Lesson = &fault, "The result could not be evaluated: "+ending.Lesson
		return ending, nil
	}
	var said conversation.Evaluation
	if err := json.Unmarshal(ending.Output, &said); err != nil {
		return ending, err // Cannot happen: readEvaluation encoded the output.
	}
	return said.Judged(result), nil
}

// evaluationReader is the conversation.Reader of evaluations.
func evaluationReader(inputs bool, careful func() bool, trusted func(use, trust string)) conversation.Reader {
	shape := lenient.ShapeOf(conversation.EvaluationSchema(inputs))
	return func(text string) (json.RawMessage, []string) {
		o := lenient.Options{Fits: lenient.Object}
		if !careful() {
			raw, _, err := lenient.Read(text, o)
			return readEvaluation(raw, err, inputs)
		}
		o.Shape = shape
		raw, doubt, err := examined(text, o, useEvaluation, trusted)
		if err == nil && doubt != "" {
			return nil, []string{doubt}
		}
		return readEvaluation(raw, err, inputs)
	}
}

// readEvaluation reads an evaluation out of the JSON that was found.
func readEvaluation(raw json.RawMessage, err error, inputs bool) (json.RawMessage, []string) {
	if err != nil {
		return nil, []string{err.Error()}
	}
	e, ok := conversation.ReadEvaluation(raw, inputs)
	if !ok {
		return nil, []string{"/status: is none of SUCCESS, EXECUTION_ERROR, INPUT_DATA_ERROR, JOB_TOO_COMPLICATED_ERROR"}
	}
	written, err := json.Marshal(e)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return written, nil
}
