package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/scaffold"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// created is the JSON of a new project.
type created struct {
	Folder   string   `json:"folder"`
	Template string   `json:"template"`
	Files    []string `json:"files"`
	Next     []string `json:"next"` // Next are the commands that run and test it, from its folder.
}

func (g folders) newCommand() *cobra.Command {
	var about strings.Builder
	var names []string
	for _, t := range scaffold.Templates() {
		names = append(names, t.Name)
		about.WriteString("\n  " + t.Name + strings.Repeat(" ", max(1, 15-len(t.Name))) + t.About)
	}
	kind, source := names[0], ""
	c := &cobra.Command{
		Use: "new DIR", Short: "Write a small project that runs at once, with tests", Args: cobra.ExactArgs(1),
		Long: "New writes a small project into a folder that is empty or does not exist yet, and names the commands that run and test it:\n" + about.String(),
		RunE: func(_ *cobra.Command, args []string) error { return g.create(args[0], kind, source) },
	}
	c.Flags().StringVar(&kind, "template", kind, strings.Join(names, ", "))
	c.Flags().StringVar(&source, "source", "", "the checkout of Jobgraph to build a worker in Go against, if this program is not a release and not inside a checkout")
	_ = c.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // Fails only if the flag does not exist.
	return c
}

// create writes a project and trusts its files, since they come from this program.
func (g folders) create(dir, kind, source string) error {
	t, err := scaffold.Find(kind)
	if err != nil {
		return usageError{err}
	}
	p := scaffold.Project{Name: scaffold.NameOf(dir)}
	if t.Go {
		here, _ := os.Getwd() // Without it, only the place of the program counts.
		program, _ := os.Executable()
		if p, err = p.Against(source, host.ReadBuild("jobgraph").Version, here, program); err != nil {
			return usageError{err}
		}
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return usageError{err}
	}
	written, err := t.Write(full, p)
	if err != nil {
		return err
	}
	if e, path, err := g.named([]string{full}, nil); err == nil && len(e.Uses) > 0 {
		if err := g.remember(e, path, nil); err != nil {
			g.app.note("the folder is asked about when it is first used: %v", err)
		}
	}
	next := t.Next
	if p.Version != "" {
		next = append([]string{"go mod tidy"}, next...)
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, created{Folder: full, Template: t.Name, Files: written, Next: next})
	}
	if g.app.output == "name" {
		return g.app.printf("%s\n", full)
	}
	wrote := g.app.fit(fmt.Sprintf("wrote %d files: %s", len(written), strings.Join(written, ", ")), 2)
	return g.app.printf("%s\nnext\n%s  cd %s\n  %s\n", wrote, g.app.reach(), dir, strings.Join(next, "\n  "))
}

// reach returns the line by which the next commands find this program, if it was called by a path: they run in another
// folder.
func (a *app) reach() string {
	if !strings.ContainsRune(a.sys.Name, filepath.Separator) {
		return ""
	}
	path, err := filepath.Abs(a.sys.Name)
	if err != nil {
		return ""
	}
	return "  export PATH=\"$PATH:" + filepath.Dir(path) + "\"\n"
}
