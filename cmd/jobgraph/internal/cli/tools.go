package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (a *app) toolsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "tools", Short: "Start the MCP servers of the configuration, and list what they offer agents", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			if a.settings.Config == "" {
				return usageError{errors.New("there is no configuration file: give one with --config or JOBGRAPH_CONFIG")}
			}
			servers, err := runner.ListTools(a.soft, a.settings.Config, a.sys.Env)
			if err != nil {
				return err
			}
			return a.writeTools(servers)
		},
	}
}

func (a *app) writeTools(servers []runner.ToolServer) error {
	table := render.Table{Head: []string{"TOOL", "REPEATABLE", "DESCRIPTION"}, WideHead: []string{"SERVER", "DIGEST"}}
	away := false
	for i := range servers {
		s := &servers[i]
		for _, t := range s.Tools {
			table.Rows = append(table.Rows, render.Row{
				Name: t.Name, Value: t, Cells: []string{t.Name, fmt.Sprint(t.Repeatable), short(strings.Join(strings.Fields(t.Description), " "), 80)},
				Wide: []string{s.Server, s.Digest},
			})
		}
		if s.Error != "" {
			away = true
			a.note("%s: %s", s.Server, render.Clean(s.Error))
		}
	}
	if a.machine() {
		if err := render.Value(a.sys.Stdout, a.output, servers); err != nil {
			return err
		}
	} else if err := table.Write(a.sys.Stdout, a.output); err != nil {
		return err
	}
	for i := range servers {
		if s := &servers[i]; s.Error == "" && !s.Pinned {
			a.note("to hold %s to these tools: mcpServers.%s.pin: %s", s.Server, s.Server, s.Digest)
		}
	}
	if away {
		return outcome(ExitUnavailable)
	}
	return nil
}
