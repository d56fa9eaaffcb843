package cli

import (
	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/bench"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/host"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which program this is", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := host.ReadBuild("jobgraph")
			if a.machine() {
				return render.Value(a.sys.Stdout, a.output, b)
			}
			commit := b.Commit
			if commit == "" {
				commit = "unknown commit"
			}
			return a.printf("%s %s (%s, %s)\n", b.Name, b.Version, commit, b.Go)
		},
	}
}

func (a *app) benchCommand() *cobra.Command {
	return bench.New(bench.Options{JSON: a.machine, Missed: outcome(ExitFailed), Usage: func(err error) error { return usageError{err} }})
}
