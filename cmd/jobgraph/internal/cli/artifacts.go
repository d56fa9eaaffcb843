package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// files are the commands about artifacts, and helpers to show artifacts.
type files struct{ app *app }

func (g files) command() *cobra.Command {
	var into string
	fetch := &cobra.Command{
		Use: "get ID SUBJOB/NAME|DIGEST", Short: "Write an artifact into a file", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := jobOf("artifacts get", args[0], "jobgraph artifacts get JOB SUBJOB/NAME"); err != nil {
				return err
			}
			return g.app.views.see(args[0], func(h *joblog.Log, c *client.Client) error { return g.fetch(h, c, args[1], into) })
		},
	}
	fetch.Flags().StringVarP(&into, "file", "f", "", "the file to write, which must not exist; - is standard output (default: the artifact's name)")
	list := &cobra.Command{
		Use: "list ID[/SUBJOB]", Short: "List the files that SubJobs have handed over", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.app.views.see(args[0], func(h *joblog.Log, _ *client.Client) error {
				t, _ := parseTarget(args[0]) // Checked by see.
				return g.app.write(artifactTable(h.Artifacts(t.subjob)))
			})
		},
	}
	return group("artifacts", "The files that runs have made", list, fetch)
}

func artifactTable(list []joblog.Artifact) output.Table {
	table := output.Table{Head: []string{"ARTIFACT", "SIZE", "TYPE"}, WideHead: []string{"RUN", "SHA256"}}
	for _, f := range list {
		at := f.SubJob + "/" + f.Name
		table.Rows = append(table.Rows, output.Row{
			Name: at, Value: f, Cells: []string{at, fmt.Sprint(f.Size), dash(f.MediaType)}, Wide: []string{fmt.Sprint(f.Run), f.Digest},
		})
	}
	return table
}

// leastDigest is the shortest prefix of a digest that names an artifact.
const leastDigest = 8

// artifactOf finds an artifact by its address, or by the beginning of its digest.
func artifactOf(list []joblog.Artifact, job, name string) (*joblog.Artifact, error) {
	subjob, file, _ := artifact.Split(name)
	names := make([]string, len(list))
	for i := range list {
		f := &list[i]
		names[i] = f.SubJob + "/" + f.Name
		if names[i] == name || f.SubJob == subjob && f.Name == file || len(name) >= leastDigest && strings.HasPrefix(f.Digest, name) {
			return f, nil
		}
	}
	return nil, notFound("artifact", name, host.Near(name, names), "jobgraph artifacts list "+job)
}

func (g files) fetch(h *joblog.Log, c *client.Client, name, into string) error {
	f, err := artifactOf(h.Artifacts(""), h.Job.ID, name)
	if err != nil {
		return err
	}
	if into == "-" {
		return c.Fetch(g.app.soft, h.Job.ID, f.Ref, g.app.sys.Stdout)
	}
	if into == "" {
		into = path.Base(path.Clean("/" + f.Name))
	}
	root, err := os.OpenRoot(filepath.Dir(into))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // Files written below it are closed already.
	if err := write(root, filepath.Base(into), func(w io.Writer) error { return c.Fetch(g.app.soft, h.Job.ID, f.Ref, w) }); err != nil {
		return err
	}
	g.app.note("%s: %d bytes", into, f.Size)
	return nil
}

// write creates a file and never replaces one; on an error it removes the partial file.
func write(root *os.Root, name string, fill func(w io.Writer) error) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &events.Fault{Code: events.CodeConflict, Field: "--file", Message: name + " exists already", Hint: "name another file with -f, or - for standard output"}
	}
	if err != nil {
		return err
	}
	if err := errors.Join(fill(file), file.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

// save writes the files of a job's result below a folder.
func (g files) save(ctx context.Context, h *joblog.Log, c *client.Client, dir string) error {
	if dir == "" || h.Job == nil {
		return nil
	}
	var names []string
	for _, ref := range h.JobArtifacts() {
		names = append(names, ref.Name)
	}
	if folder, within, found := artifact.Collision(names); found {
		return &events.Fault{
			Code: events.CodeConflict, Field: "--artifacts",
			Message: fmt.Sprintf("%q cannot be a file beside %q, which stands in a folder of that name; nothing was written", folder, within),
			Hint:    "have one of them made under another name, or write them one by one: jobgraph artifacts get " + h.Job.ID + " SUBJOB/NAME -f FILE",
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // Runs chose the names of the files, and none may lead out of the folder.
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // Files written below it are closed already.
	for _, ref := range h.JobArtifacts() {
		name := strings.TrimPrefix(path.Clean("/"+ref.Name), "/")
		err := root.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = write(root, name, func(w io.Writer) error { return c.Fetch(ctx, h.Job.ID, ref, w) })
		}
		if err != nil {
			return err
		}
		g.app.note("%s: %d bytes", path.Join(dir, name), ref.Size)
	}
	return nil
}

// Limits of what is shown of artifacts.
const (
	mostListed    = 20
	mostPreviewed = 5
	previewBytes  = 400
	previewLines  = 4
)

// write lists the files of a job for people, with the beginning of the first ones if there is a client.
func (g files) write(b *strings.Builder, h *joblog.Log, c *client.Client) {
	list := h.Artifacts("")
	if len(list) == 0 {
		return
	}
	b.WriteString("\n")
	for i, f := range list[:min(len(list), mostListed)] {
		fmt.Fprintf(b, "artifact  %s\n", output.Artifact(f.SubJob, f.Ref))
		if i < mostPreviewed && c != nil {
			b.WriteString(g.preview(g.app.soft, c, h.Job.ID, f.Ref))
		}
	}
	if left := len(list) - mostListed; left > 0 {
		fmt.Fprintf(b, "… and %d more: jobgraph artifacts list %s\n", left, h.Job.ID)
	}
	fmt.Fprintf(b, "  → jobgraph artifacts get %s SUBJOB/NAME\n", h.Job.ID)
}

// fetchable says how to get the job's files; kept is false if they disappear with the bus of this run.
func (g files) fetchable(h *joblog.Log, kept bool) {
	if h.Job == nil || g.app.machine() || g.app.output == "name" || len(h.Artifacts("")) == 0 {
		return
	}
	if kept {
		g.app.note("`jobgraph artifacts get %s SUBJOB/NAME` writes one of its files", h.Job.ID)
		return
	}
	g.app.note("its files are gone with this run; --artifacts DIR keeps those of the result")
}

// preview returns the first lines of a text, each after a mark; "" if it is not text or cannot be read.
func (g files) preview(ctx context.Context, c *client.Client, job string, ref events.Ref) string {
	text, err := c.Preview(ctx, job, ref, previewBytes)
	if err != nil || strings.TrimSpace(text) == "" {
		return ""
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	more := len(lines) > previewLines || ref.Size > int64(len(text))
	var b strings.Builder
	for _, line := range lines[:min(len(lines), previewLines)] {
		b.WriteString("  │ " + short(output.Clean(line), 100) + "\n")
	}
	if more {
		b.WriteString("  │ …\n")
	}
	return b.String()
}
