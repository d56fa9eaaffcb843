package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/fsck"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// fsckCommand checks a store for consistency.
func (g operations) fsckCommand() *cobra.Command {
	var store string
	c := &cobra.Command{
		Use: "fsck", Short: "Check every job of a store: log, saved state, payloads; exit 1 if anything is inconsistent", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if store == "" {
				return g.app.with(g.fsck)
			}
			if g.app.server != "" || g.app.context != "" {
				return usageError{errors.New("--store excludes --server and --context: a store is checked by itself")}
			}
			return g.inStore(store, g.fsck)
		},
	}
	c.Flags().StringVar(&store, "store", "", "check the store in this `FOLDER`, of a jobgraph up that is not running, instead of a bus")
	return c
}

// inStore runs a function on a bus over a store that no process uses.
func (g operations) inStore(dir string, do func(context.Context, *client.Client) error) (err error) {
	if found, err := os.Stat(filepath.Join(dir, "jetstream")); err != nil || !found.IsDir() {
		return usageError{&events.Fault{Code: events.CodeNotFound, Field: "store", Message: dir + " is no store", Hint: "name the folder that `up` tells as its store"}}
	}
	server, err := embed.Start(embed.Settings{Store: dir, SyncAlways: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	c, err := g.app.dial(bus.Options{InProcess: server, Name: "jobgraph-cli", Prefix: g.app.settings.Prefix}, reach)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(g.app.soft, c)
}

func (g operations) fsck(ctx context.Context, c *client.Client) error {
	report, err := fsck.Check(ctx, c, time.Now())
	if errors.Is(err, bus.ErrNotFound) {
		return fmt.Errorf("%w: %w", err, &events.Fault{
			Code: events.CodeNotFound, Field: "store", Message: "there are no streams under prefix " + c.Names().Prefix(), Hint: "name another with --prefix, or run `jobgraph init`",
		})
	}
	if err != nil {
		return err
	}
	if g.app.machine() {
		err = output.Value(g.app.sys.Stdout, g.app.output, report)
	} else {
		err = g.app.printf("%s", output.Clean(checked(report)))
	}
	if err == nil && len(report.Findings) > 0 {
		return outcome(ExitFailed)
	}
	return err
}

// checked formats a report for people.
func checked(r *fsck.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "checked   %d jobs, %d saved states, %d events, %d payloads\n", r.Jobs, r.States, r.Events, r.Payloads)
	for _, told := range []struct {
		count int
		text  string
	}{
		{r.Unsigned, "saved states without a digest, of an earlier release: the scheduler saves each with one when it next needs it"},
		{r.Foreign, "saved states of another log or version, which count as none: the scheduler folds those jobs again when it next needs them"},
		{r.Quarantined, "jobs in quarantine: `jobgraph dlq ls`"},
	} {
		if told.count > 0 {
			fmt.Fprintf(&b, "note      %d %s\n", told.count, told.text)
		}
	}
	if u := r.Unused; u != nil {
		fmt.Fprintf(&b, "note      payloads without a job: %d (ids: %d, size: %s, oldest: %s); their requests are yet to come, were never sent, or were refused; after a day they are a finding\n",
			u.Payloads, u.IDs, output.Size(u.Bytes), u.Oldest.UTC().Format(time.RFC3339))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "%-15s %s\n", strings.ToUpper(string(f.Kind)), reason(&f.Fault))
		for _, d := range f.Differences {
			fmt.Fprintf(&b, "  %s\n    saved  %s\n    folded %s\n", d.Field, short(string(d.Saved), 300), short(string(d.Folded), 300))
		}
	}
	if len(r.Findings) == 0 {
		b.WriteString("all is well\n")
	}
	return b.String()
}
