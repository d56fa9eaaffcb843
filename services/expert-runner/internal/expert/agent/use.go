package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// use makes the calls of one answer: those of the workspace in order, the others side by side. What each gives is kept,
// whatever becomes of the others. An error means that the run is over; park that a person has to answer first.
func (r *run) use(ctx context.Context, c *turn.Command) (facts []turn.Fact, park *events.InputRequested, err error) {
	results := make([]string, len(c.Calls))
	errs := make([]error, len(c.Calls))
	var local []int
	var group sync.WaitGroup // Waited for below; the goroutines end with their calls, at the latest with ctx.
	for _, i := range c.Pending {
		switch call := &c.Calls[i]; {
		case call.Name == AskPerson && r.has(AskPerson):
		case r.tools[call.Name].Local:
			local = append(local, i)
		default:
			group.Go(func() { results[i], errs[i] = r.call(ctx, c.Number, i, call) })
		}
	}
	for _, i := range local {
		results[i], errs[i] = r.call(ctx, c.Number, i, &c.Calls[i])
	}
	group.Wait()
	for _, i := range c.Pending {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		if call := &c.Calls[i]; call.Name == AskPerson && r.has(AskPerson) {
			var asked *events.InputRequested
			results[i], asked = r.person(c.Number, i, call.Args)
			if asked != nil && park == nil {
				park = asked
			}
		}
		facts = append(facts, turn.Fact{Kind: turn.Observed, Call: i, Result: results[i]})
	}
	return facts, park, nil
}

// has reports whether the agent may use a tool.
func (r *run) has(name string) bool { return slices.Contains(r.config.Tools, name) }

// call makes one call, unless the journal knows its result. A workspace that is new is written again.
func (r *run) call(ctx context.Context, number, i int, call *turn.Call) (string, error) {
	t, known := r.tools[call.Name]
	if !known {
		return r.unknown(call.Name), nil
	}
	item := fmt.Sprintf("tool/%d/%d", number, i)
	made := false
	raw, err := r.task.Hand.Do(ctx, expert.Effect{Key: item, Name: "tool " + call.Name, Safe: true, Args: shown(call.Args)}, func(ctx context.Context) (json.RawMessage, error) {
		made = true
		r.live.call(item, call)
		text := observe(ctx, &t, call.Args)
		r.called(call.Name, text)
		r.live.done(item, len(text))
		return quoted(text), ctx.Err()
	})
	if err != nil {
		return "", err
	}
	if !made && t.Local {
		observe(ctx, &t, call.Args)
	}
	return turn.Words(raw), nil
}

// maxShown is how much of a call's arguments the journal repeats, in bytes: the model's answer has them whole.
const maxShown = 4 << 10

// shown are arguments for people: what is no JSON, or too long, as a text.
func shown(args string) json.RawMessage {
	switch raw := json.RawMessage(args); {
	case len(args) > maxShown:
		return quoted(turn.Clip(args, maxShown))
	case json.Valid(raw):
		return raw
	}
	return quoted(args)
}

// observe calls a tool; what goes wrong is an observation like any other.
func observe(ctx context.Context, t *tool.Tool, args string) (text string) {
	defer func() {
		if value := recover(); value != nil {
			text = fmt.Sprintf(mishap+"the tool broke: %v", value)
		}
	}()
	text, err := t.Call(ctx, args)
	switch {
	case err != nil:
		return mishap + err.Error()
	case text == "":
		return "(nothing)"
	}
	return text
}

// called counts a call that was made.
func (r *run) called(name, text string) {
	if r.config.Called == nil {
		return
	}
	outcome := "ok"
	if strings.HasPrefix(text, mishap) {
		outcome = "error"
	}
	r.config.Called(name, outcome)
}

// mishap begins what the model is told of a call that went wrong.
const mishap = "Error: "

func (r *run) unknown(name string) string {
	return fmt.Sprintf(mishap+"there is no tool %q, but %s", name, strings.Join(slices.Sorted(slices.Values(r.config.Tools)), ", "))
}
