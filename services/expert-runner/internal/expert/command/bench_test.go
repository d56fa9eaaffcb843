package command_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// BenchmarkTrue measures a run of the smallest program, with a keeper and without.
func BenchmarkTrue(b *testing.B) {
	for _, level := range []sandbox.Level{sandbox.None, sandbox.Landlock, sandbox.Namespaces} {
		box, err := sandbox.NewBoxes(helper).Open(level)
		if err != nil {
			b.Log(err)
			continue
		}
		for name, k := range map[string]*process.Keeper{"direct": nil, "kept": keeper} { // any order: they are independent.
			b.Run(string(level)+"/"+name, func(b *testing.B) {
				x := musttest.Get(command.New(command.Config{Argv: []string{"/bin/true"}, Workspaces: b.TempDir(), Box: box, Keeper: k}))(b)
				for b.Loop() {
					x.Run(b.Context(), task())
				}
			})
		}
	}
}
