package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/client"
)

func (a *app) exportCommand() *cobra.Command {
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
			return a.with(func(ctx context.Context, c *client.Client) error {
				x, err := c.Export(ctx, job, a.now())
				if err != nil {
					return a.missing(ctx, c, job, err)
				}
				if gone := lost(x); len(gone) > 0 {
					a.note("the bus has lost payloads that the log of %s names: %s; the file lacks them, too", job, strings.Join(gone, ", "))
				}
				if file == "-" {
					return x.Write(a.sys.Stdout)
				}
				if err := x.Save(file); err != nil {
					return err
				}
				a.note("%s: %d events, %d records of journals, %d blobs", file, len(x.Records), len(x.Journals), len(x.Blobs))
				return nil
			})
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write")
	return c
}

// lost lists the payloads that an export's events name and its blobs lack, by their names, else by the beginnings of their digests.
func lost(x *client.Export) []string {
	var gone []string
	for e, err := range x.Events() {
		if err != nil {
			return gone
		}
		for _, ref := range client.Refs(e) {
			name := cmp.Or(ref.Name, fmt.Sprintf("%.12s", ref.Digest))
			if _, ok := x.Blobs[ref.Digest]; !ok && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
	}
	return gone
}

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Take a job in from a file, or with - from standard input", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			x, err := a.loadExport(args[0])
			if err != nil {
				return err
			}
			return a.with(func(ctx context.Context, c *client.Client) error {
				if err := c.Import(ctx, x); err != nil {
					return err
				}
				if a.machine() {
					return render.Value(a.sys.Stdout, a.output, map[string]string{"job_id": x.Job})
				}
				return a.printf("%s\n", x.Job)
			})
		},
	}
}

// loadExport reads an export file, - for standard input.
func (a *app) loadExport(file string) (*client.Export, error) {
	if file == "-" {
		return client.Read(a.sys.Stdin)
	}
	return client.Load(file)
}
