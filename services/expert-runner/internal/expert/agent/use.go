package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// use makes the permitted calls of one answer: those of the workspace and of other tools with a state in order, the others
// concurrently. Each result is recorded, whatever happens to the others. An error means that the run is over; park means that a
// person has to answer first.
func (r *run) use(ctx context.Context, c *conversation.Command) (facts []conversation.Fact, park *events.InputRequested, err error) {
	results := make([]string, len(c.Calls))
	errs := make([]error, len(c.Calls))
	gates := make([]permit, len(c.Calls))
	var ordered []int
	var group sync.WaitGroup // Waited for below; the goroutines end with their calls, at the latest with ctx.
	for _, i := range c.Pending {
		call := &c.Calls[i]
		gates[i] = gate{r}.pass(c.Number, i, call)
		switch g := &gates[i]; {
		case g.ask == nil && g.refusal == "" && r.asks(call.Name):
		case r.tools[call.Name].Local, r.tools[call.Name].Files, r.tools[call.Name].Ordered:
			ordered = append(ordered, i)
		case g.ask == nil:
			group.Go(func() { results[i], errs[i] = r.call(ctx, c.Number, i, call, g) })
		}
	}
	for _, i := range ordered {
		if gates[i].ask != nil {
			break // Later calls may depend on this one.
		}
		results[i], errs[i] = r.call(ctx, c.Number, i, &c.Calls[i], &gates[i])
	}
	group.Wait()
	if err := unclear(c, gates, errs); err != nil {
		return nil, nil, err
	}
	for _, i := range c.Pending {
		g := &gates[i]
		if call := &c.Calls[i]; r.asks(call.Name) && g.refusal == "" {
			results[i], g.ask = r.person(c.Number, i, g.args)
		}
		if g.ask != nil && park == nil {
			park = g.ask
		}
		if g.ask == nil && !r.asks(c.Calls[i].Name) {
			r.called = append(r.called, events.Called{Tool: c.Calls[i].Name, Args: conversation.Clip(c.Calls[i].Args, maxTold), Outcome: told(g, results[i])})
		}
		facts = append(facts, conversation.Fact{Kind: conversation.Observed, Call: i, Result: results[i]})
	}
	return facts, park, nil
}

// Limits of the calls in a report: how many, and the bytes of the arguments of each.
const (
	mostTold = 30
	maxTold  = 200
)

// told returns the outcome of a call as people see it in the report.
func told(g *permit, result string) string {
	switch {
	case g.refusal != "":
		return g.outcome
	case strings.HasPrefix(result, mishap):
		return outcomeError
	}
	return outcomeOK
}

// unknownOutcome is the error of calls with an unknown outcome, in the form for a person.
type unknownOutcome struct {
	calls []expert.Effect
	why   error
}

func (d *unknownOutcome) Error() string { return d.calls[0].Name + ": " + d.why.Error() }

func (d *unknownOutcome) Unwrap() error { return d.why }

// unclear returns why a run cannot continue after its calls: one was interrupted, or some have an unknown outcome.
func unclear(c *conversation.Command, gates []permit, errs []error) error {
	var d *unknownOutcome
	for i, err := range errs {
		if err == nil {
			continue
		}
		if !errors.Is(err, expert.ErrUnknown) {
			return err
		}
		if d == nil {
			d = &unknownOutcome{why: err}
		}
		d.calls = append(d.calls, expert.Effect{Key: itemOf(c.Number, i), Name: effectName(c.Calls[i].Name), Args: shown(gates[i].args)})
	}
	if d == nil {
		return nil
	}
	return d
}

// items is the prefix of the keys of tool calls.
const items = "tool/"

// itemOf returns the key of a call within its conversation.
func itemOf(number, i int) string { return fmt.Sprintf("%s%d/%d", items, number, i) }

func effectName(tool string) string { return "tool " + tool }

// asks reports whether a tool is the one that asks a person, and the agent may use it.
func (r *run) asks(name string) bool {
	return name == AskPerson && slices.Contains(r.names, name)
}

// call makes one permitted call, or returns why it was not made, unless the journal has its result. In a new workspace,
// recorded workspace calls are repeated.
func (r *run) call(ctx context.Context, number, i int, call *conversation.Call, g *permit) (string, error) {
	t, known := r.tools[call.Name]
	if !known && !r.asks(call.Name) {
		return g.refusal, nil
	}
	item := itemOf(number, i)
	args := g.args
	if g.refusal != "" {
		args = call.Args
	}
	made := false
	effect := expert.Effect{Key: item, Name: effectName(call.Name), Safe: !t.Once || g.refusal != "", Args: shown(args)}
	raw, err := r.task.Hand.Do(ctx, effect, func(ctx context.Context) (json.RawMessage, error) {
		made = true
		c := tool.Call{Args: args, Key: r.keyOf(number, item), Said: r.live.output(item)}
		text, err := r.make(ctx, &t, item, call, g, c)
		if err != nil {
			return nil, err
		}
		return r.record(ctx, &t, text)
	})
	if err != nil {
		return "", err
	}
	if !made && t.Local && g.refusal == "" {
		_, _ = observe(ctx, &t, tool.Call{Args: args}) // Its result is recorded already.
	}
	if len(raw) == 0 {
		return personSays, nil
	}
	text, files, kept := observation(raw)
	if !made && t.Files && g.refusal == "" {
		err = r.again(ctx, call.Name, files, kept)
	}
	return text, err
}

// personSays is the result that the model sees for a call that a person has declared done.
const personSays = "(done, as a person has said)"

// make makes a call for the first time, or returns why it was not made.
func (r *run) make(ctx context.Context, t *tool.Tool, item string, call *conversation.Call, g *permit, c tool.Call) (text string, err error) {
	outcome, begun := g.outcome, time.Now()
	if text = g.refusal; text == "" {
		r.live.call(item, &conversation.Call{Name: call.Name, Args: c.Args})
		text, err = observe(ctx, t, c)
		switch {
		case err != nil:
			outcome = outcomeUnknown
		case strings.HasPrefix(text, mishap):
			outcome = outcomeError
		default:
			outcome = outcomeOK
		}
		if g.edited {
			text = "[a person has changed the arguments to " + conversation.Clip(c.Args, maxShown) + "]\n" + text
		}
		r.live.done(item, len(text), outcome, time.Since(begun))
	} else {
		r.live.call(item, call)
		r.live.done(item, len(text), outcome, 0)
	}
	if r.config.Called != nil {
		r.config.Called(call.Name, outcome)
	}
	return text, err
}

// keyOf returns the idempotency key of a call, which stays the same when another run continues the conversation.
func (r *run) keyOf(number int, item string) string {
	w := r.task.Work
	if first := r.asked[number]; first != 0 && first != w.Run {
		return jobrun.CallKey(jobrun.KeyOf(w, first), item)
	}
	return jobrun.CallKey(w.IdempotencyKey, item)
}

// maxShown limits the arguments of a call in its intent, in bytes: the model's answer contains them in full.
const maxShown = 4 << 10

// shown returns arguments for people: as a string if they are not JSON or are too long.
func shown(args string) json.RawMessage {
	switch raw := json.RawMessage(args); {
	case len(args) > maxShown:
		return quoted(conversation.Clip(args, maxShown))
	case json.Valid(raw):
		return raw
	}
	return quoted(args)
}

// observe calls a tool. An error becomes an observation like any other, except an unknown outcome.
func observe(ctx context.Context, t *tool.Tool, c tool.Call) (text string, err error) {
	defer func() {
		if value := recover(); value != nil {
			text, err = fmt.Sprintf(mishap+"the tool broke: %v", value), nil
		}
	}()
	text, err = t.Call(ctx, c)
	switch {
	case err != nil && t.Once && errors.Is(err, expert.ErrUnknown):
		return "", err
	case err != nil:
		return mishap + err.Error(), nil
	case text == "":
		return "(nothing)", nil
	}
	return text, nil
}

// mishap begins the text for the model about a failed call.
const mishap = "Error: "

func (r *run) unknown(name string) string {
	return fmt.Sprintf(mishap+"there is no tool %q, but %s", name, strings.Join(slices.Sorted(slices.Values(r.names)), ", "))
}
