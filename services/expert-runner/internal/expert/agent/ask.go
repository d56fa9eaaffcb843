package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/llm"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// formName is the name of the wanted form for the provider.
const formName = "deliverable"

// question is what the journal stores of a model call's request, for people.
type question struct {
	Model      string                     `json:"model,omitempty"`
	Part       string                     `json:"part,omitempty"`
	Voice      string                     `json:"voice,omitempty"`
	Messages   int                        `json:"messages"`
	Choice     string                     `json:"choice,omitempty"`
	Form       bool                       `json:"form,omitempty"`
	Compressed []conversation.Compression `json:"compressed,omitempty"`
}

// answer is what the journal stores of the model's answer.
type answer struct {
	llm.Response
	// Run is the run that paid for it; ElapsedMS is how long the conversation had lasted.
	Run       int   `json:"run"`
	ElapsedMS int64 `json:"elapsed_ms"`
	// Left is the job's remaining budget for that run. Began is set for the first answer of a conversation.
	Left  events.Spent `json:"left,omitzero"`
	Began *beginning   `json:"began,omitempty"`
	// Unreadable says why the model's text is not an answer; it is journaled like one, since it was paid for and the next question
	// refers to it.
	Unreadable string `json:"unreadable,omitempty"`
	// Cut is true if it is unreadable because it reached its limit of tokens.
	Cut bool `json:"cut,omitempty"`
}

// ask calls the model, unless the journal has the answer. An error means that the run is over. park means that the model
// has no capacity and the run continues later.
func (r *run) ask(ctx context.Context, c *conversation.Command) (fact conversation.Fact, park *events.InputRequested, err error) {
	key := questionKey(c.Number)
	args, err := json.Marshal(r.question(c))
	if err != nil {
		return fact, nil, fmt.Errorf("write question: %w", err)
	}
	var failed error
	raw, err := r.task.Hand.Do(ctx, expert.Effect{Key: key, Name: "model", Safe: true, Args: args}, func(ctx context.Context) (json.RawMessage, error) {
		sink, done := r.live.answer(c.Number)
		got, err := r.config.Client.Do(ctx, r.request(c, key), sink)
		if ctx.Err() == nil {
			done()
		}
		unreadable, cut := "", false
		if e, ok := errors.AsType[*llm.Error](err); ok {
			cut = e.Class == llm.LengthCut && !r.tooLong
			if cut || e.Garbled() {
				unreadable = lessonOf(e)
				if e.Partial != nil {
					got = *e.Partial
				}
				got.Model, err = cmp.Or(got.Model, e.Model), nil
			}
		}
		if err != nil {
			failed = err
			return nil, err
		}
		return json.Marshal(answer{
			Unreadable: unreadable, Cut: cut,
			Response: got, Run: r.task.Work.Run, ElapsedMS: (r.before + time.Since(r.began)).Milliseconds(), Left: r.task.Work.Budget, Began: r.exchange.began,
		})
	})
	switch {
	case ctx.Err() != nil && err != nil:
		return fact, nil, ctx.Err()
	case failed != nil:
		return r.failure(failed), r.busy(failed, c.Number), nil
	case err != nil:
		return fact, nil, err
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return fact, nil, fmt.Errorf("read the kept answer %s: %w", key, err)
	}
	r.exchange.other = r.exchange.began.other(a.Began)
	return r.answered(&a, c), nil, nil
}

// lessonOf tells the model why its text was not an answer.
func lessonOf(e *llm.Error) string {
	if e.Class == llm.LengthCut {
		return e.Message + ": it reached its limit of tokens before it was finished. Answer more briefly, or do less at a time."
	}
	return e.Message
}

// question returns the request in the form for the journal.
func (r *run) question(c *conversation.Command) question {
	return question{
		Model: r.modelOf(c), Part: r.exchange.part, Voice: c.Voice, Messages: len(c.Messages), Choice: c.Choice, Form: c.Form, Compressed: c.Compressed,
	}
}

// questions is the prefix of the keys of model calls.
const questions = "model/"

// questionKey returns the key of a model call within its run.
func questionKey(number int) string { return questions + strconv.Itoa(number) }

// answered converts an answer to a fact.
func (r *run) answered(a *answer, c *conversation.Command) conversation.Fact {
	elapsed := time.Duration(a.ElapsedMS) * time.Millisecond
	if now := r.before + time.Since(r.began); elapsed > now {
		r.before += elapsed - now
	}
	if r.exchange.began != nil { // The first answer says by which rules the conversation began.
		r.exchange.careful = a.Began != nil && a.Began.Rules.Careful
	}
	r.asked[c.Number], r.exchange.began, r.tooLong = a.Run, nil, a.Cut
	if a.Run == r.task.Work.Run {
		r.pay(&a.Response)
	}
	f := conversation.Fact{Kind: conversation.Answered, Text: a.Text, Unreadable: a.Unreadable, Carry: a.Carry, Tokens: int64(a.Usage.Total()), Spent: r.spent, Elapsed: elapsed}
	for _, call := range a.Calls {
		f.Calls = append(f.Calls, conversation.Call(call))
	}
	if len(f.Calls) == 0 && len(r.names) > 0 && !c.Advises && a.Unreadable == "" {
		f.Text, f.Calls, f.Unreadable = r.written(f.Text, c.Number)
	}
	return f
}

// failure converts a failed call to a fact.
func (r *run) failure(err error) conversation.Fact {
	f := conversation.Fact{
		Kind: conversation.Failed, Outcome: llm.Outcome(err), Fault: llm.Fault(err), TooLong: llm.ClassOf(err) == llm.ContextTooLong,
	}
	var e *llm.Error
	if errors.As(err, &e) {
		f.RetryAfter = e.RetryAfter
		if e.Partial != nil {
			f.Tokens = int64(e.Partial.Usage.Total())
			r.pay(e.Partial)
		}
	}
	return f
}

func (r *run) pay(a *llm.Response) {
	cost := events.Spent{Tokens: int64(a.Usage.Total())}
	if a.CostUSD != nil {
		cost.CostUSD = *a.CostUSD
	}
	r.spent = graph.AddSpent(r.spent, cost)
}

// request returns the request to the model.
func (r *run) request(c *conversation.Command, key string) llm.Request {
	request := llm.Request{
		Model: r.modelOf(c), Stream: true, IdempotencyKey: jobrun.CallKey(r.task.Work.IdempotencyKey, key), MaxWait: holdAtMost,
	}
	if !c.Advises {
		request.Tools = r.offered()
	}
	if len(request.Tools) > 0 {
		request.ToolChoice = c.Choice
	}
	for i := range c.Messages {
		request.Messages = append(request.Messages, messageOf(&c.Messages[i]))
	}
	if c.Form {
		request.Schema = &llm.Schema{Name: formName, Schema: r.exchange.schema}
	}
	return request
}

// modelOf returns the configured name of the model to call.
func (r *run) modelOf(c *conversation.Command) string {
	if c.Advises {
		return r.exchange.advisor
	}
	return r.exchange.model
}

func messageOf(m *conversation.Message) llm.Message {
	switch m.Role {
	case conversation.System:
		return llm.System(m.Text)
	case conversation.Assistant:
		said := llm.Assistant(m.Text)
		for _, call := range m.Calls {
			said.Calls = append(said.Calls, llm.Call(call))
		}
		said.Carry = m.Carry
		return said
	case conversation.Tool:
		return llm.Result(m.CallID, m.Text)
	}
	return llm.User(m.Text)
}

// offered returns the tools in the form for the model, in the order of the card.
func (r *run) offered() []llm.Tool {
	var list []llm.Tool
	for _, name := range r.names {
		t := r.tools[name]
		switch name {
		case conversation.Terminate:
			t = tool.Tool{Name: name, Description: "Ends the work: with success and the result, or with failure and the reason.", Schema: json.RawMessage(conversation.TerminateSchema)}
		case AskPerson:
			t = tool.Tool{Name: name, Description: "Asks a person, and waits for the answer, which may take long.", Schema: json.RawMessage(personSchema)}
		}
		list = append(list, llm.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema})
	}
	return list
}
