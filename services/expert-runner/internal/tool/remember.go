package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/memory"
)

// Memory is what an expert remembers of the user of a run.
type Memory interface {
	// Recall returns the facts, newest first; none while memory is switched off.
	Recall(ctx context.Context) ([]memory.Fact, error)
	// Remember adds a fact, once per key. It reports whether the fact is new. Errors: memory.ErrOff, *events.Fault.
	Remember(ctx context.Context, key, text string) (added bool, err error)
}

// NewRemember returns the tool that remembers facts. If m is nil, there is no user, and the tool remembers nothing.
func NewRemember(m Memory) Tool {
	return Tool{
		Name: Remember, Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"text":{"type":"string","maxLength":%d}},"required":["text"]}`, memory.MaxFact)),
		Description: "Remembers one short fact about the user for later jobs, such as a wish or a name. Remember only what the user said or clearly wants.",
		Call: func(ctx context.Context, c Call) (string, error) {
			var a struct {
				Text string `json:"text"`
			}
			if err := decode(c.Args, &a); err != nil {
				return "", err
			}
			if m == nil {
				return "", errors.New("this job has no user: nothing can be remembered")
			}
			added, err := m.Remember(ctx, c.Key, a.Text)
			var fault *events.Fault
			switch {
			case errors.Is(err, memory.ErrOff):
				return "", errors.New("the user has switched memory off: nothing is remembered")
			case errors.As(err, &fault):
				return "", errors.New(fault.Message)
			case err != nil:
				return "", err
			case !added:
				return "It is remembered already.", nil
			}
			return "Remembered.", nil
		},
	}
}
