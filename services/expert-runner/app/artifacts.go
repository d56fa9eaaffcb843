package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
)

// artifacts are the patterns of the files that a run hands on; a card that says nothing means those in the folder for them.
func (c *front) artifacts() []string {
	if c.Artifacts == nil {
		return workspace.DefaultArtifacts()
	}
	return c.Artifacts
}

// artifactFaults are those of the key artifacts.
func (c *front) artifactFaults() events.Faults {
	if c.Artifacts != nil && c.Kind != kindCommand && c.Kind != kindLLM {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "artifacts", Message: "only experts of kinds command and llm have a workspace",
			Hint: "leave it out, or use one of these kinds",
		}}
	}
	return workspace.PatternFaults(c.Artifacts)
}
