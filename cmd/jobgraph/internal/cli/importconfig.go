package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/importer"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// importLimit limits the size of an imported configuration, in bytes.
const importLimit = 4 << 20

// importFlags are those of `import-config`.
type importFlags struct {
	from, to string
	force    bool
}

func (g operations) importConfigCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use: "import-config FILE…", Short: "Convert another system's configuration into jobgraph.yaml and expert cards", Args: cobra.MinimumNArgs(1),
		Long: "Reads chat2graph.yml, deer-go.yaml, OpenManus's config.toml and ValueCell's agent cards (JSON), and says of every key whether it was carried\n" +
			"over, mapped to something else, or left behind and why. Secrets are not copied: they become references to variables.",
		RunE: func(_ *cobra.Command, args []string) error { return g.importConfig(&f, args) },
	}
	c.Flags().StringVar(&f.from, "from", "", "the system that the files configure: "+strings.Join(importer.Kinds(), ", ")+" (default: by name and shape)")
	c.Flags().StringVar(&f.to, "to", ".", "folder to write to")
	c.Flags().BoolVar(&f.force, "force", false, "replace existing files")
	return c
}

// imported is the output for programs.
type imported struct {
	// Files are the written files.
	Files []string `json:"files"`
	// Notes say what happened to every key.
	Notes []importer.Note `json:"notes"`
	// Warnings say which experts can do less than before.
	Warnings host.Faults `json:"warnings,omitempty"`
}

func (g operations) importConfig(f *importFlags, paths []string) error {
	if f.from != "" && !slices.Contains(importer.Kinds(), f.from) {
		return usageError{fmt.Errorf("--from %q: use one of %s", f.from, strings.Join(importer.Kinds(), ", "))}
	}
	var sources []importer.Source
	for _, path := range paths {
		text, err := readSource(path)
		if err != nil {
			return err
		}
		sources = append(sources, importer.Source{Path: path, Text: text, Kind: f.from})
	}
	r, err := importer.Read(sources)
	if err != nil {
		return err
	}
	written, err := writeImport(f, r.Files)
	if err != nil {
		return err
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, imported{Files: written, Notes: r.Notes, Warnings: r.Warnings})
	}
	table := output.Table{Head: []string{"KEY", "LINE", "VERDICT", "TO", "WHY"}}
	for _, n := range r.Notes {
		key := n.Key
		if len(paths) > 1 {
			key = filepath.Base(n.File) + ": " + key
		}
		table.Rows = append(table.Rows, output.Row{
			Name: n.Key, Value: n, Cells: []string{key, fmt.Sprint(n.Line), string(n.Verdict), dash(n.To), dash(n.Why)},
		})
	}
	if err := g.app.write(table); err != nil {
		return err
	}
	for i := range r.Warnings {
		w := &r.Warnings[i]
		g.app.note("warning: %s:%d: %s\n  → %s", w.File, w.Line, w.Message, w.Hint)
	}
	g.app.note("wrote %s; try: jobgraph config validate %s", strings.Join(written, ", "), written[len(written)-1])
	return nil
}

func readSource(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	text, err := io.ReadAll(io.LimitReader(file, importLimit+1))
	if err == nil && len(text) > importLimit {
		err = host.Faults{{Code: events.CodeTooLarge, File: path, Message: fmt.Sprintf("more than %d bytes", importLimit), Hint: "is it a configuration?"}}
	}
	return text, err
}

// writeImport writes the files, or none if one exists already; jobgraph.yaml comes last, when all files that it names
// exist.
func writeImport(f *importFlags, files map[string][]byte) ([]string, error) {
	names := slices.Sorted(maps.Keys(files))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	var faults events.Faults
	written := make([]string, len(names))
	for i, name := range names {
		written[i] = filepath.Join(f.to, filepath.FromSlash(name))
		if _, err := os.Lstat(written[i]); !f.force && !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, events.Fault{Code: events.CodeConflict, Field: written[i], Message: "is there already", Hint: "write to another folder with --to, or replace it with --force"})
		}
	}
	if err := faults.OrNil(); err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := os.MkdirAll(filepath.Dir(written[i]), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(written[i], files[name], 0o644); err != nil {
			return nil, err
		}
	}
	return written, nil
}
