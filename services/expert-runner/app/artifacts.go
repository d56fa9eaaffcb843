package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
)

// artifacts are the patterns of the files that a run delivers; by default, the files in the artifact folder.
func (c *cardSpec) artifacts() []string {
	if c.Artifacts == nil {
		return workspace.DefaultArtifacts()
	}
	return c.Artifacts
}

// artifactFaults returns what is wrong with the value of the key artifacts.
func (c *cardSpec) artifactFaults() events.Faults {
	if c.Artifacts != nil && !c.is().workspace {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "artifacts", Message: "only experts of kinds command and llm have a workspace",
			Hint: "leave it out, or use one of these kinds",
		}}
	}
	return workspace.PatternFaults(c.Artifacts)
}
