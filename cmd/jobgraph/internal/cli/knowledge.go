package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// knowledgeCommand is about the documents of a session.
func (g sessions) knowledgeCommand() *cobra.Command {
	add := g.app.connected("add SESSION FILE…", "Keep files for a session", cobra.MinimumNArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		var refs []events.Ref
		for _, path := range args[1:] {
			ref, err := addDocument(ctx, c, args[0], path)
			if err != nil {
				return err
			}
			refs = append(refs, ref)
		}
		return g.app.write(documentTable(refs))
	})
	list := g.app.connected("list SESSION", "List what is kept for a session", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		refs, err := c.Knowledge().List(ctx, args[0])
		if err != nil {
			return err
		}
		return g.app.write(documentTable(refs))
	})
	remove := g.app.connected("remove SESSION ID", "Remove what is kept for a session", cobra.ExactArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		if err := c.Knowledge().Remove(ctx, args[0], args[1]); err != nil {
			return err
		}
		return g.app.printf("%s removed\n", args[1])
	})
	return group("knowledge", "Documents that agents of a session can read", add, list, remove)
}

func addDocument(ctx context.Context, c *client.Client, session, path string) (events.Ref, error) {
	file, err := os.Open(path)
	if err != nil {
		return events.Ref{}, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return events.Ref{}, usageError{fmt.Errorf("%s is no file", path)}
	}
	return c.Knowledge().Add(ctx, session, filepath.Base(path), file)
}

func documentTable(refs []events.Ref) output.Table {
	table := output.Table{Head: []string{"ID", "NAME", "SIZE", "TYPE"}, WideHead: []string{"SHA256"}}
	for _, ref := range refs {
		id := ref.Digest[:min(12, len(ref.Digest))]
		table.Rows = append(table.Rows, output.Row{
			Name: id, Value: ref, Cells: []string{id, dash(ref.Name), fmt.Sprint(ref.Size), dash(ref.MediaType)}, Wide: []string{ref.Digest},
		})
	}
	return table
}
