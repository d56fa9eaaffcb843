package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Trial is one capability that was tried, with the result.
type Trial struct {
	// Name is text, stream, tools, schema, or the name of a profile after "plan ".
	Name string `json:"trial"`
	// Works is true if the model did what was asked.
	Works bool `json:"works"`
	// Note says how it went, or why it failed.
	Note string `json:"note"`
	// Tokens and CostUSD are what the trial used; the cost is 0 if neither the provider nor the configuration gives a price.
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// Fatal reports whether an error of one call means that no call of the model can succeed.
func Fatal(err error) bool {
	var call *llm.Error
	return errors.As(err, &call) && slices.Contains([]llm.Class{llm.Auth, llm.Quota, llm.NotFound, llm.Unavailable}, llm.ClassOf(err))
}

// Run makes four calls of a configured model. If one shows that no call can succeed, the others are left out, and err says why.
func Run(ctx context.Context, c llm.Client, model string) (trials []Trial, err error) {
	t := tester{client: c, model: model}
	for _, try := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{{"text", t.text}, {"stream", t.stream}, {"tools", t.tools}, {"schema", t.schema}} {
		t.tokens, t.cost = 0, 0
		note, err := try.do(ctx)
		if err != nil {
			note = err.Error()
		}
		trials = append(trials, Trial{Name: try.name, Works: err == nil, Note: note, Tokens: t.tokens, CostUSD: t.cost})
		if err != nil && (Fatal(err) || ctx.Err() != nil) {
			return trials, err
		}
	}
	return trials, nil
}

// tester makes the calls of one trial and counts what they use.
type tester struct {
	client llm.Client
	model  string
	tokens int64
	cost   float64
}

func (t *tester) ask(ctx context.Context, r llm.Request, sink func(llm.Delta)) (llm.Response, error) {
	r.Model = t.model
	answer, err := t.client.Do(ctx, r, sink)
	t.tokens += int64(answer.Usage.Total())
	if answer.CostUSD != nil {
		t.cost += *answer.CostUSD
	}
	return answer, err
}

func (t *tester) text(ctx context.Context) (string, error) {
	answer, err := t.ask(ctx, llm.Request{Messages: []llm.Message{llm.User("Answer with the one word: ready")}}, nil)
	if err == nil && strings.TrimSpace(answer.Text) == "" {
		err = errors.New("the answer has no text")
	}
	return "served as " + answer.Served, err
}

func (t *tester) stream(ctx context.Context) (string, error) {
	pieces, text := 0, strings.Builder{}
	answer, err := t.ask(ctx, llm.Request{Stream: true, Messages: []llm.Message{llm.User("Count from one to ten in words.")}}, func(d llm.Delta) {
		if d.Restart {
			pieces = 0
			text.Reset()
		}
		if d.Text != "" {
			pieces++
			text.WriteString(d.Text)
		}
	})
	if err == nil && (pieces == 0 || strings.TrimSpace(text.String()) != strings.TrimSpace(answer.Text)) {
		err = errors.New("the pieces are not the answer")
	}
	return fmt.Sprintf("%d pieces", pieces), err
}

// tools lets the model choose to call a tool with exact arguments, and use the result.
func (t *tester) tools(ctx context.Context) (string, error) {
	add := llm.Tool{
		Name: "add", Description: "Adds two whole numbers and marks the result.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`),
	}
	talk := []llm.Message{llm.User("Use the tool add for 17 and 25, then tell me its mark.")}
	answer, err := t.ask(ctx, llm.Request{Messages: talk, Tools: []llm.Tool{add}}, nil)
	if err != nil {
		return "", err
	}
	if len(answer.Calls) == 0 {
		return "", errors.New("it answers in words and calls no tool: agents with tools will not work")
	}
	var sum struct{ A, B *int }
	call := answer.Calls[0]
	if call.Name != add.Name || json.Unmarshal([]byte(call.Args), &sum) != nil || sum.A == nil || sum.B == nil || *sum.A+*sum.B != 42 {
		return "", fmt.Errorf("the call is not the one that was asked for: %.80s %.200s", call.Name, call.Args)
	}
	talk = append(talk, answer.Message())
	for _, c := range answer.Calls {
		talk = append(talk, llm.Result(c.ID, `{"sum": 42, "mark": "heron"}`))
	}
	answer, err = t.ask(ctx, llm.Request{Messages: talk, Tools: []llm.Tool{add}}, nil)
	if err == nil && !strings.Contains(strings.ToLower(answer.Text), "heron") {
		err = errors.New("it does not use what the tool has said")
	}
	return "called, and used the result", err
}

func (t *tester) schema(ctx context.Context) (string, error) {
	answer, err := t.ask(ctx, llm.Request{
		Messages: []llm.Message{llm.User("Name a river and its length in whole kilometres, as JSON with the keys name and length.")},
		Schema: &llm.Schema{
			Name:   "river",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"length":{"type":"integer"}},"required":["name","length"],"additionalProperties":false}`),
		},
	}, nil)
	if err != nil {
		return "", err
	}
	var river struct {
		Name   *string
		Length *int
	}
	if json.Unmarshal([]byte(answer.Text), &river) != nil || river.Name == nil || river.Length == nil {
		return "", fmt.Errorf("the answer is not of the form: %.200s", answer.Text)
	}
	return "by " + string(answer.Rung), nil
}
