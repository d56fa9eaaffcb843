package cli

import (
	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/bench"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/host"
)

func (g operations) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print version, commit and Go version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return g.version() },
	}
}

// version prints what the program was built from.
func (g operations) version() error {
	b := host.ReadBuild("jobgraph")
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, b)
	}
	about := b.Go
	switch {
	case b.Commit != "" && b.Modified:
		about = b.Commit + " and changes, " + b.Go
	case b.Commit != "":
		about = b.Commit + ", " + b.Go
	}
	return g.app.printf("%s %s (%s)\n", b.Name, b.Version, about)
}

func (g operations) benchCommand() *cobra.Command {
	return bench.New(bench.Options{JSON: g.app.machine, Missed: outcome(ExitFailed), Usage: func(err error) error { return usageError{err} }})
}
