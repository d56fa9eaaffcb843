package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g replays) exportCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "export ID", Short: "Write a job with its journals and blobs into one file", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			job, err := jobOf("export", args[0], "jobgraph export JOB -o FILE")
			if err != nil {
				return err
			}
			if file == "" {
				return usageError{errors.New("name the file with -o; a name that ends in .gz is compressed, - is standard output")}
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				x, err := c.Archive().Export(ctx, job, g.app.now())
				if err != nil {
					return g.app.views.missing(ctx, c, job, err)
				}
				if gone := lost(x); len(gone) > 0 {
					g.app.note("the bus has lost payloads that the log of %s names: %s; the file lacks them, too", job, strings.Join(gone, ", "))
				}
				if file == "-" {
					return x.Write(g.app.sys.Stdout)
				}
				if err := x.Save(file); err != nil {
					return err
				}
				g.app.note("%s: %d events, %d records of journals, %d blobs", file, len(x.Records), len(x.Journals), len(x.Blobs))
				return nil
			})
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write")
	return c
}

// lost lists the payloads that events of an export refer to but its blobs lack, by name, else by prefix of the digest.
func lost(x *client.Export) []string {
	var gone []string
	for e, err := range x.Events() {
		if err != nil {
			return gone
		}
		for _, ref := range joblog.Refs(e) {
			name := cmp.Or(ref.Name, fmt.Sprintf("%.12s", ref.Digest))
			if _, ok := x.Blobs[ref.Digest]; !ok && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
	}
	return gone
}

func (g replays) importCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Import a job from a file; - reads standard input", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			x, err := g.loadExport(args[0])
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				if err := c.Archive().Import(ctx, x); err != nil {
					return err
				}
				if g.app.machine() {
					return output.Value(g.app.sys.Stdout, g.app.output, map[string]string{"job_id": x.Job})
				}
				return g.app.printf("%s\n", x.Job)
			})
		},
	}
}

// loadExport reads an export file; - means standard input.
func (g replays) loadExport(file string) (*client.Export, error) {
	if file == "-" {
		return client.Read(g.app.sys.Stdin)
	}
	return client.Load(file)
}
