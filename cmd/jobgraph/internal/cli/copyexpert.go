package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/events"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// copyCommand writes the card of a built-in expert to a file, so that it can be changed.
func (g experts) copyCommand() *cobra.Command {
	dir, force := "experts", false
	c := &cobra.Command{
		Use: "copy NAME", Short: "Write the card of a built-in expert to a file, for editing", Args: cobra.ExactArgs(1),
		Long: "Write the card of a built-in expert to a file, for editing. A card of the same name takes the place of the built-in one.",
		RunE: func(_ *cobra.Command, args []string) error {
			name, text, err := runner.BuiltinFile(args[0])
			if err != nil {
				return err
			}
			path := filepath.Join(dir, name)
			if err := writeNew(path, text, force); err != nil {
				return err
			}
			if g.app.machine() {
				return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"file": path})
			}
			g.app.note("wrote %s; use it with --experts %s", path, dir)
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, card := range runner.Builtin() {
				ids = append(ids, card.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&dir, "dir", dir, "the folder for the file")
	c.Flags().BoolVar(&force, "force", false, "replace the file if it exists")
	return c
}

// writeNew writes a file. It fails if the file exists, unless replace is true.
func writeNew(path, text string, replace bool) error {
	fault := func(code events.Code, message, hint string, err error) error {
		f := &events.Fault{Code: code, Field: path, Message: message, Hint: hint}
		if err != nil {
			f.Cause = err.Error()
		}
		return f
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault(events.CodeInvalid, "the folder cannot be made", "give another one with --dir", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if replace {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fault(events.CodeConflict, "the file exists", "give another folder with --dir, or --force", nil)
	}
	if err != nil {
		return fault(events.CodeInvalid, "the file cannot be written", "give another folder with --dir", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fault(events.CodeInvalid, "the file cannot be written", "", err)
	}
	return nil
}
