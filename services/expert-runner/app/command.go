package app

import (
	"path/filepath"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
)

// kindCommand names the kind of experts that are programs on this machine.
const kindCommand = "command"

// commandKind is a program and its permissions. Its arguments and environment are keys of the card itself.
type commandKind struct {
	Box sandboxSpec `yaml:",inline"`
}

func (k *commandKind) about() about {
	return about{name: kindCommand, workspace: true, effects: true}
}

func (k *commandKind) faults(c *cardSpec) events.Faults {
	faults := k.Box.faults()
	if len(c.Command) == 0 {
		faults = append(faults, events.Fault{
			Code: events.CodeMissing, Field: "command", Message: "a command expert needs its program", Hint: `command: ["./program", "argument"]`,
		})
	}
	return faults
}

func (k *commandKind) build(c *catalog, s *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	x := &expert.Expert{Card: f.card}
	box, policy, err := s.box(f)
	if err != nil {
		return nil, invalid("sandbox", err)
	}
	x.Card.Tags = boxed(x.Card.Tags, box)
	runner, err := command.New(command.Config{
		Argv: f.Command, Dir: filepath.Dir(f.path), Env: f.Env, Path: s.CommandPath, Stdout: f.StdoutLimit, Grace: s.KillGrace,
		Workspaces: s.WorkDir, KeepFailed: s.KeepFailed, Artifacts: f.artifacts(), Box: box, Policy: policy,
		Secrets: s.secrets, Keeper: s.keeper,
	})
	if err != nil && !c.excuse(f, "command", err) {
		return nil, invalid("command", err)
	}
	// A command is repeated after a crash unless its card forbids it: it gets an idempotency key.
	x.Runner, x.Intent = runner, run.Effect{Key: run.Command, Name: run.Command, Safe: f.idempotent(true)}
	return x, nil
}
