package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
)

// knowledge are the commands about bases of knowledge.
type knowledge struct{ app *app }

// command returns the commands about the documents of bases.
func (g knowledge) command() *cobra.Command {
	c := group("knowledge", "Documents for agents: bases of their own, of users, of sessions",
		g.listCommand(), g.addCommand(), g.removeCommand(), g.searchCommand())
	c.Long = "Agents are given the passages of their bases that fit a step best. A base is global (--base NAME), of a user, or of a session.\n" +
		"Cards and requests name global ones; every job reads those of its user and session."
	return c
}

// which are the flags that name a base.
type which struct{ base, user, session string }

func (w *which) declare(c *cobra.Command) {
	c.Flags().StringVar(&w.base, "base", "", "the global base of this name")
	c.Flags().StringVar(&w.user, "user", "", "the base of this user")
	c.Flags().StringVar(&w.session, "session", "", "the base of this session")
}

// all returns the named bases.
func (w *which) all() ([]bases.Base, error) {
	var list []bases.Base
	for _, b := range []bases.Base{{Scope: bases.Global, Name: w.base}, {Scope: bases.User, Name: w.user}, {Scope: bases.Session, Name: w.session}} {
		if b.Name == "" {
			continue
		}
		if !b.Valid() {
			return nil, usageError{fmt.Errorf("%.80q is no name of a base: use 1 to 64 of A-Z a-z 0-9 _ -, other than session and user", b.Name)}
		}
		list = append(list, b)
	}
	return list, nil
}

// one returns the one base that the flags name.
func (w *which) one() (bases.Base, error) {
	list, err := w.all()
	if err == nil && len(list) != 1 {
		err = usageError{errors.New("name one base: --base NAME, --user USER or --session ID")}
	}
	if err != nil {
		return bases.Base{}, err
	}
	return list[0], nil
}

func (g knowledge) listCommand() *cobra.Command {
	var w which
	c := g.app.connected("list", "List the documents of a base; without one, the global bases", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		if w == (which{}) {
			return g.bases(ctx, c)
		}
		b, err := w.one()
		if err != nil {
			return err
		}
		refs, err := c.Knowledge().Of(b).List(ctx)
		if err != nil {
			return err
		}
		return g.app.write(documentTable(refs))
	})
	c.Aliases = []string{"ls"}
	w.declare(c)
	return c
}

func (g knowledge) bases(ctx context.Context, c *client.Client) error {
	bases, err := c.Knowledge().Bases(ctx)
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"BASE", "DOCUMENTS", "SIZE"}}
	for _, b := range bases {
		refs, err := c.Knowledge().Of(b).List(ctx)
		if err != nil {
			return err
		}
		size := int64(0)
		for _, ref := range refs {
			size += ref.Size
		}
		table.Rows = append(table.Rows, output.Row{
			Name: b.Name, Value: map[string]any{"base": b.Name, "documents": len(refs), "size": size}, Cells: []string{b.Name, fmt.Sprint(len(refs)), fmt.Sprint(size)},
		})
	}
	if len(bases) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no global bases; `jobgraph knowledge add --base NAME FILE` begins one")
		return nil
	}
	return g.app.write(table)
}

func (g knowledge) addCommand() *cobra.Command {
	var w which
	c := g.app.connected("add FILE…", "Add files to a base", cobra.MinimumNArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		b, err := w.one()
		if err != nil {
			return err
		}
		return g.app.addDocuments(ctx, c, b, args)
	})
	w.declare(c)
	return c
}

func (g knowledge) removeCommand() *cobra.Command {
	var w which
	var all bool
	c := g.app.connected("remove [ID…]", "Remove documents of a base", cobra.ArbitraryArgs, func(ctx context.Context, c *client.Client, args []string) error {
		b, err := w.one()
		if err == nil && all == (len(args) > 0) {
			err = usageError{errors.New("name the ids of documents, or give --all")}
		}
		if err != nil {
			return err
		}
		if all {
			if err := c.Knowledge().Of(b).RemoveAll(ctx); err != nil {
				return err
			}
			return g.app.printf("%s removed\n", b)
		}
		for _, id := range args {
			if err := c.Knowledge().Of(b).Remove(ctx, id); err != nil {
				return err
			}
			if err := g.app.printf("%s removed\n", id); err != nil {
				return err
			}
		}
		return nil
	})
	c.Aliases = []string{"rm"}
	w.declare(c)
	c.Flags().BoolVar(&all, "all", false, "remove all documents, and the name of a global base")
	return c
}

func (g knowledge) searchCommand() *cobra.Command {
	var w which
	var most int
	c := g.app.connected("search QUERY…", "Search bases as agents do", cobra.MinimumNArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		bases, err := w.all()
		if err == nil && len(bases) == 0 {
			err = usageError{errors.New("name a base: --base NAME, --user USER or --session ID")}
		}
		if err == nil && most < 1 {
			err = usageError{errors.New("--most must be at least 1")}
		}
		if err != nil {
			return err
		}
		found, err := c.Knowledge().Search(ctx, bases, strings.Join(args, " "), most)
		if err != nil {
			return err
		}
		if len(found.Unread) > 0 {
			g.app.note("not searched, since no text or too large: %s", strings.Join(found.Unread, ", "))
		}
		table := output.Table{Head: []string{"SCORE", "SOURCE", "PASSAGE"}}
		for i := range found.Hits {
			h := &found.Hits[i]
			table.Rows = append(table.Rows, output.Row{
				Name: h.ID(), Value: h, Cells: []string{fmt.Sprintf("%.2f", h.Score), h.Source(), short(strings.Join(strings.Fields(h.Text), " "), 80)},
			})
		}
		if len(found.Hits) == 0 && !g.app.machine() && g.app.output != "name" {
			g.app.note("no passage has these words")
			return nil
		}
		return g.app.write(table)
	})
	w.declare(c)
	c.Flags().IntVar(&most, "most", 5, "maximum number of passages")
	return c
}

// knowledgeCommand returns the commands about the documents of a session.
func (g sessions) knowledgeCommand() *cobra.Command {
	add := g.app.connected("add SESSION FILE…", "Keep files for a session", cobra.MinimumNArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		return g.app.addDocuments(ctx, c, bases.Base{Scope: bases.Session, Name: args[0]}, args[1:])
	})
	list := g.app.connected("list SESSION", "List the documents of a session", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		refs, err := c.Knowledge().List(ctx, args[0])
		if err != nil {
			return err
		}
		return g.app.write(documentTable(refs))
	})
	remove := g.app.connected("remove SESSION ID", "Remove a document of a session", cobra.ExactArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		if err := c.Knowledge().Remove(ctx, args[0], args[1]); err != nil {
			return err
		}
		return g.app.printf("%s removed\n", args[1])
	})
	return group("knowledge", "Documents that agents of a session can read", add, list, remove)
}

// addDocuments adds files to a base. It reports which of them are not text.
func (a *app) addDocuments(ctx context.Context, c *client.Client, b bases.Base, paths []string) error {
	var refs []events.Ref
	for _, path := range paths {
		ref, readable, err := addDocument(ctx, c, b, path)
		if err != nil {
			return err
		}
		if !readable {
			a.note("%s is not text in UTF-8, UTF-16, GB18030 or Latin-1: agents see its name only", path)
		}
		refs = append(refs, ref)
	}
	return a.write(documentTable(refs))
}

func addDocument(ctx context.Context, c *client.Client, b bases.Base, path string) (ref events.Ref, readable bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return events.Ref{}, false, err
	}
	defer func() { _ = file.Close() }() // It was only read.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return events.Ref{}, false, usageError{fmt.Errorf("%s is no file", path)}
	}
	if readable, err = client.Readable(file); err != nil {
		return events.Ref{}, false, err
	}
	ref, err = c.Knowledge().Of(b).Add(ctx, filepath.Base(path), file)
	return ref, readable, err
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
