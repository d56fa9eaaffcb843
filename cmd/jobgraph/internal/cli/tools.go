package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (g experts) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tools", Short: "Start the configured MCP servers and list the tools that they offer", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if g.app.settings.Config == "" {
				return usageError{errors.New("there is no configuration file: give one with --config or JOBGRAPH_CONFIG")}
			}
			servers, err := runner.ListTools(g.app.soft, g.app.settings.Config, g.app.sys.Env, g.app.sys.Sandbox)
			if err != nil {
				return err
			}
			return g.writeTools(servers)
		},
	}
}

func (g experts) writeTools(servers []runner.ToolServer) error {
	table := output.Table{Head: []string{"TOOL", "REPEATABLE", "DESCRIPTION"}, WideHead: []string{"SERVER", "DIGEST"}}
	away := false
	for i := range servers {
		s := &servers[i]
		for _, t := range s.Tools {
			table.Rows = append(table.Rows, output.Row{
				Name: t.Name, Value: t, Cells: []string{t.Name, fmt.Sprint(t.Repeatable), short(strings.Join(strings.Fields(t.Description), " "), 80)},
				Wide: []string{s.Server, s.Digest},
			})
		}
		if s.Error != "" {
			away = true
			g.app.complain(s.Server + ": " + s.Error)
		}
	}
	if g.app.machine() {
		if err := output.Value(g.app.sys.Stdout, g.app.output, servers); err != nil {
			return err
		}
	} else if len(table.Rows) > 0 || !away {
		if err := g.app.write(table); err != nil {
			return err
		}
	}
	for i := range servers {
		if s := &servers[i]; s.Error == "" && !s.Pinned {
			g.app.note("to hold %s to these tools: mcpServers.%s.pin: %s", s.Server, s.Server, s.Digest)
		}
	}
	if away {
		return outcome(ExitUnavailable)
	}
	return nil
}
