package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

func (g views) tailCommand() *cobra.Command {
	var from uint64
	c := &cobra.Command{
		Use: "tail ID[/SUBJOB]", Short: "Follow what a job, or one SubJob, says and does", Args: cobra.ExactArgs(1),
		Long: "Writes the live items of a job: thoughts and texts of models, calls of tools, lines that programs write to standard error, milestones. " +
			"It begins with the items that are kept, goes on with new ones, and ends with the job.\n\n" +
			"Items are kept for a limited time, and nothing depends on them: jobgraph events shows what has happened for good. " +
			"With -o jsonl each item is a line; the seq of the last one, given as --from-seq, continues after an interruption.",
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := parseTarget(args[0])
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				if err := g.admission(ctx, c, t.job); err != nil {
					return err
				}
				if t.subjob != "" {
					if err := g.subjobExists(ctx, c, t); err != nil {
						return err
					}
				}
				g.app.followed()
				return g.tail(ctx, c, t, from)
			})
		},
	}
	c.Flags().Uint64Var(&from, "from-seq", 0, "skip items before this sequence of the stream of live items")
	return c
}

// subjobExists returns an error if a planned job has no SubJob of this name.
func (g views) subjobExists(ctx context.Context, c *client.Client, t target) error {
	h, err := g.app.look(ctx, c, t)
	if err != nil || h.Job == nil || h.SubJob(t.subjob) != nil {
		return err
	}
	if s := h.Job.View(); !s.Status.Terminal() && len(s.SubJobs) <= 1 {
		return nil // Only the plan will tell.
	}
	_, err = c.Logs().SubJob(ctx, t.job, t.subjob)
	return err
}

func (g views) tail(ctx context.Context, c *client.Client, t target, from uint64) error {
	defer g.app.mindful(ctx, c)()
	show := g.liveLines()
	for i, err := range c.Live(ctx, t.job, client.LiveOptions{SubJob: t.subjob, From: from}) {
		if err != nil {
			_ = show.Flush() // The other error matters more.
			return err
		}
		if g.app.machine() {
			err = output.Line(g.app.sys.Stdout, i)
		} else {
			err = show.Item(&i.Item)
		}
		if err != nil {
			return err
		}
	}
	return show.Flush()
}

// liveLines returns the display of live items in the width of the terminal.
func (g views) liveLines() *watch.Live {
	width, _, _ := g.app.size()
	return &watch.Live{Out: g.app.sys.Stdout, Width: width}
}

func (g views) logsCommand() *cobra.Command {
	var run int
	c := &cobra.Command{
		Use: "logs ID/SUBJOB", Short: "Print what a run wrote to its standard error", Args: cobra.ExactArgs(1),
		Long: "Prints the end of what a run of a SubJob wrote to its standard error or log, up to 64 KiB, which is kept with its report. " +
			"A run that has not ended, or whose runner died, is shown as far as live items are kept.",
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := subjobOf(args[0])
			if err != nil {
				return err
			}
			if run < 0 {
				return usageError{fmt.Errorf("--run %d: runs count from 1; 0 is the latest", run)}
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error { return g.logs(ctx, c, t, run) })
		},
	}
	c.Flags().IntVar(&run, "run", 0, "the run; 0 for the latest")
	return c
}

func (g views) logs(ctx context.Context, c *client.Client, t target, run int) error {
	if _, err := c.Head(ctx, t.job); err != nil {
		return g.missing(ctx, c, t.job, err)
	}
	w, err := c.Logs().Written(ctx, t.job, t.subjob, run)
	if err != nil {
		return err
	}
	switch {
	case g.app.machine():
		return output.Value(g.app.sys.Stdout, g.app.output, w)
	case w.Log == "":
		g.app.note("run %d of %s/%s wrote nothing to its standard error", w.Run, t.job, t.subjob)
		return nil
	case w.Live:
		g.app.note("run %d of %s/%s has no report; these are its live items", w.Run, t.job, t.subjob)
	}
	return g.app.printf("%s\n", strings.TrimSuffix(output.Clean(w.Log), "\n"))
}

// liveLine is one item among the events of `watch --live -o json`.
type liveLine struct {
	Live client.LiveItem `json:"live"`
}

// lockedWriter lets two goroutines write whole lines.
type lockedWriter struct {
	mu  sync.Mutex // Guards out.
	out io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// liveRest limits the wait for the last live items after the end of a watch.
const liveRest = time.Second

// beside writes live items among the transitions of a watched job, until stop is called. If the job has ended, stop waits for the
// last items.
func (g views) beside(ctx context.Context, c *client.Client, job string, out io.Writer) (stop func(ended bool)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { // Ends with the job or with ctx, which stop cancels; stop waits for it.
		defer close(done)
		show := g.liveLines()
		show.Out = out
		for i, err := range c.Live(ctx, job, client.LiveOptions{}) {
			if err != nil {
				if ctx.Err() == nil {
					g.app.note("live items end: %v", err)
				}
				break
			}
			if i.Type == item.Progress {
				continue // The transitions show this already.
			}
			if g.app.machine() {
				err = output.Line(out, liveLine{i})
			} else {
				err = show.Item(&i.Item)
			}
			if err != nil {
				break // The transitions run into the same error.
			}
		}
		_ = show.Flush() // The other error matters more.
	}()
	return func(ended bool) {
		if ended {
			select {
			case <-done:
			case <-time.After(liveRest):
			}
		}
		cancel()
		<-done
	}
}
