package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (g folders) command() *cobra.Command {
	return group("trust", "The folders whose jobgraph.yaml and experts/ are used without asking", g.addCommand(), g.showCommand(), g.listCommand(), g.removeCommand())
}

// examination is a folder with what its files would do.
type examination struct {
	Folder    string       `json:"folder"`
	Digest    string       `json:"digest,omitempty"`
	Uses      []runner.Use `json:"uses"`
	Secrets   []string     `json:"secrets,omitempty"`
	Trusted   bool         `json:"trusted"`
	Variables []string     `json:"variables,omitempty"`
}

func (g folders) addCommand() *cobra.Command {
	var given []string
	c := &cobra.Command{
		Use: "add [DIR]", Short: "Trust a folder as it is now; changed files have to be trusted again", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			e, path, err := g.named(args, given)
			if err != nil {
				return err
			}
			if len(e.Uses) > 0 {
				if err := g.remember(e, path, given); err != nil {
					return err
				}
			}
			return g.show(e, path)
		},
	}
	c.Flags().StringSliceVar(&given, "env", nil, "secret variable that the files may read; repeatable")
	return c
}

func (g folders) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show [DIR]", Short: "Show what the files of a folder would run, reach and read", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			e, path, err := g.named(args, nil)
			if err != nil {
				return err
			}
			return g.show(e, path)
		},
	}
}

// named examines the folder that arguments name, or the current one.
func (g folders) named(args, given []string) (*examined, string, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	d := look(dir)
	path, err := d.path()
	if err != nil {
		return nil, "", usageError{unreadable(dir, err)}
	}
	if d.empty() {
		return nil, "", notFound("folder", dir+" with jobgraph.yaml or experts/*.md", nil, "jobgraph trust list")
	}
	e, err := g.examine(d, g.app.sys.Env, given)
	return e, path, err
}

// show prints what a folder would do, and whether it is trusted.
func (g folders) show(e *examined, path string) error {
	entry, known, err := g.store().Get(path)
	if err != nil {
		return err
	}
	x := examination{Folder: path, Digest: e.Digest, Uses: e.Uses, Secrets: e.secrets, Trusted: len(e.Uses) == 0 || known && entry.Digest == e.Digest}
	if x.Uses == nil {
		x.Uses = []runner.Use{}
	}
	if x.Trusted {
		x.Variables = entry.Variables
	}
	table := output.Table{Head: []string{"DOES", "WHAT", "WHERE"}}
	for _, u := range e.Uses {
		table.Rows = append(table.Rows, output.Row{Name: u.What, Cells: []string{u.Does, u.What, u.Place}, Value: u})
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, x)
	}
	if err := table.Write(g.app.sys.Stdout, g.app.output); err != nil { // Trust needs the whole text: it is never cut to the width of the terminal.
		return err
	}
	switch {
	case len(e.Uses) == 0:
		g.app.note("these are only texts: they need no trust")
	case x.Trusted:
		g.app.note("trusted: %s", path)
	default:
		g.app.note("not trusted: `jobgraph trust add` trusts them as they are")
	}
	for _, name := range e.secrets {
		if !slices.Contains(x.Variables, name) {
			g.app.note("the secret %s is not given to them: --env %s does", name, name)
		}
	}
	return nil
}

func (g folders) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the folders that you trust", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			list, err := g.store().List()
			if err != nil {
				return err
			}
			table := output.Table{Head: []string{"FOLDER", "SINCE", "SECRETS"}, WideHead: []string{"DIGEST"}}
			for _, e := range list {
				table.Rows = append(table.Rows, output.Row{
					Name: e.Folder, Cells: []string{e.Folder, e.Since.Format("2006-01-02 15:04"), strings.Join(e.Variables, " ")}, Wide: []string{e.Digest}, Value: e,
				})
			}
			return g.app.write(table)
		},
	}
}

func (g folders) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove [DIR]", Short: "Stop trusting a folder", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			path, err := look(dir).path()
			if err != nil { // The folder may be gone.
				if path, err = filepath.Abs(dir); err != nil {
					return err
				}
			}
			found, err := g.store().Remove(path)
			if err == nil && !found {
				err = notFound("trusted folder", path, nil, "jobgraph trust list")
			}
			if err != nil {
				return err
			}
			if g.app.machine() {
				return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"removed": path})
			}
			return g.app.printf("%s\n", path)
		},
	}
}
