package app

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// echoKind repeats its goal after a given word.
type echoKind struct {
	Word string `yaml:"word"`
}

func (k *echoKind) about() about { return about{name: "echo"} }

func (k *echoKind) faults(*cardSpec) events.Faults {
	if k.Word == "" {
		return invalid("word", errors.New("an echo needs a word"))
	}
	return nil
}

func (k *echoKind) uses(*cardFile) []Use { return nil }

func (k *echoKind) build(_ *catalog, _ *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	return &expert.Expert{Card: f.card, Runner: echo(k.Word)}, nil
}

type echo string

// Run implements expert.Runner.
func (e echo) Run(_ context.Context, t *expert.Task) task.Ending {
	output, err := json.Marshal(string(e) + " " + t.Work.Goal)
	if err != nil {
		return task.Failure(events.CodeInvalid, "the goal is no JSON", err.Error(), "")
	}
	return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: output}}
}
