package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// replayFlags are the flags of `replay`.
type replayFlags struct {
	until   uint64
	speed   float64
	step    bool
	diff    bool
	publish string
	agent   bool
	subjob  string
}

// replays are the commands about logs kept in files: replay, export, import.
type replays struct{ app *app }

func (g replays) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use: "replay ID|FILE", Short: "Fold a job's events again, from the bus or from an export file", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if f.speed < 0 {
				return usageError{fmt.Errorf("--speed %g: must not be negative", f.speed)}
			}
			if err := errors.Join(f.agentFaults(), g.elsewhere(f.publish)); err != nil {
				return err
			}
			return g.replay(args[0], &f)
		},
	}
	c.Flags().Uint64Var(&f.until, "until-seq", 0, "stop after this sequence")
	c.Flags().Float64Var(&f.speed, "speed", 0, "keep the pauses between events: 1 as recorded, 10 ten times as fast; 0 for none")
	c.Flags().BoolVar(&f.step, "step", false, "wait for Enter before each event")
	c.Flags().BoolVar(&f.diff, "diff", false, "compare the fold with the saved state; exit 1 if they differ")
	c.Flags().StringVar(&f.publish, "publish", "", "publish the recorded messages again, with this subject in place of their first token, to debug a service")
	c.Flags().BoolVar(&f.agent, "agent", false, "replay agents from their journals, without models or tools; exit 1 if any outcome differs")
	c.Flags().StringVar(&f.subjob, "subjob", "", "with --agent: the SubJob whose agent is replayed (default: all)")
	return c
}

// elsewhere refuses to publish on subjects that a running Jobgraph reads.
func (g replays) elsewhere(subject string) error {
	prefix := events.NewNames(g.app.settings.Prefix).Prefix()
	first, _, _ := strings.Cut(subject, ".")
	switch {
	case subject == "":
	case first == prefix:
		return usageError{fmt.Errorf("--publish %q: everything below %q is live: name another first word, and let the service under debug read it with --prefix", subject, prefix)}
	case strings.ContainsAny(subject, "*> \t") || strings.HasPrefix(first, "$") || strings.Contains("."+subject+".", ".."):
		return usageError{fmt.Errorf("--publish %q: write a subject without wildcards", subject)}
	}
	return nil
}

// replay folds a file or a job on the bus. It connects to the bus only if necessary.
func (g replays) replay(arg string, f *replayFlags) error {
	_, statErr := os.Stat(arg)
	if statErr != nil {
		if _, err := jobOf("replay", arg, "jobgraph replay JOB", "jobgraph replay JOB --agent --subjob SUBJOB"); len(faultsOf(err)) > 0 {
			return err
		}
	}
	if statErr != nil && !events.ValidToken(arg) {
		return usageError{&events.Fault{Code: events.CodeNotFound, Field: arg, Message: "neither a file nor a job id"}}
	}
	if statErr == nil && f.publish == "" {
		x, err := client.Load(arg)
		if err != nil {
			return err
		}
		return g.replayExport(g.app.soft, nil, x, f)
	}
	return g.app.with(func(ctx context.Context, c *client.Client) error {
		x, err := g.recorded(ctx, c, arg, statErr == nil)
		if err != nil {
			return err
		}
		return g.replayExport(ctx, c, x, f)
	})
}

func (g replays) recorded(ctx context.Context, c *client.Client, arg string, file bool) (*client.Export, error) {
	if file {
		return client.Load(arg)
	}
	x, err := c.Archive().Export(ctx, arg, g.app.now())
	if err != nil {
		return nil, g.app.views.missing(ctx, c, arg, err)
	}
	return x, nil
}

func (g replays) replayExport(ctx context.Context, c *client.Client, x *client.Export, f *replayFlags) error {
	if f.agent {
		return g.replayAgents(x, f.subjob)
	}
	if first := x.Records[0].Seq; f.until > 0 && f.until < first {
		return usageError{fmt.Errorf("--until-seq %d: job %s has sequences %d to %d", f.until, x.Job, first, x.Records[len(x.Records)-1].Seq)}
	}
	if f.diff {
		return g.replayDiff(x, f.until)
	}
	keys := bufio.NewScanner(g.app.sys.Stdin)
	h := joblog.New()
	var last time.Time
	i := 0
	for e, err := range x.Resolved() {
		if err != nil {
			return err
		}
		record := x.Records[i]
		i++
		if f.until > 0 && e.Seq > f.until {
			break
		}
		if err := g.pause(ctx, f, keys, e.Time.Sub(last), last.IsZero()); err != nil {
			return err
		}
		last = e.Time
		if f.publish != "" {
			if err := emit(c, record, f.publish); err != nil {
				return err
			}
		}
		before := statuses(h)
		if err := h.Step(e); err != nil {
			return err
		}
		if err := g.printStep(e, h, before); err != nil {
			return err
		}
	}
	if f.publish != "" {
		return c.Bus().Flush(ctx)
	}
	return nil
}

// pause waits for Enter, or for the time between two events.
func (g replays) pause(ctx context.Context, f *replayFlags, keys *bufio.Scanner, gap time.Duration, first bool) error {
	if f.step && !keys.Scan() {
		return errors.Join(keys.Err(), outcome(ExitOK))
	}
	if f.speed == 0 || first || gap <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(float64(gap) / f.speed))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// emit publishes a recorded message again, with its headers.
func emit(c *client.Client, r client.Record, prefix string) error {
	m := r.On(prefix)
	return c.Bus().PublishCore(m.Subject, m.Header, m.Body)
}

func statuses(h *joblog.Log) map[string]events.Status {
	m := map[string]events.Status{}
	if h.Job != nil {
		for _, n := range h.Job.View().SubJobs {
			m[n.ID] = n.Status
		}
	}
	return m
}

// folded is one step of a replay.
type folded struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Kind    events.Kind     `json:"kind"`
	SubJob  string          `json:"subjob,omitempty"`
	Run     int             `json:"run,omitempty"`
	Verdict graph.Verdict   `json:"verdict"`
	Reason  string          `json:"reason,omitempty"`
	Status  events.Status   `json:"status"`
	Done    int             `json:"done"`
	Total   int             `json:"total"`
	Changed []statusChanged `json:"changed,omitempty"`
}

type statusChanged struct {
	SubJob string        `json:"subjob"`
	From   events.Status `json:"from,omitempty"`
	To     events.Status `json:"to"`
}

func (g replays) printStep(e events.Event, h *joblog.Log, before map[string]events.Status) error {
	s := h.Job.View()
	step := folded{
		Seq: e.Seq, Time: e.Time, Kind: e.Kind, SubJob: e.SubJob, Run: e.Run, Verdict: h.Effect.Verdict, Reason: h.Effect.Reason,
		Status: s.Status, Done: s.Progress.Done, Total: s.Progress.Total,
	}
	for _, n := range s.SubJobs {
		if was := before[n.ID]; was != n.Status {
			step.Changed = append(step.Changed, statusChanged{n.ID, was, n.Status})
		}
	}
	if g.app.machine() {
		return output.Line(g.app.sys.Stdout, step)
	}
	text := fmt.Sprintf("%6d  %-18s %-9s %-10s %d/%d", e.Seq, e.Kind, step.Verdict, step.Status, step.Done, step.Total)
	var changes []string
	for _, c := range step.Changed {
		from := string(c.From)
		if from == "" {
			from = "new"
		}
		changes = append(changes, fmt.Sprintf("%s %s→%s", c.SubJob, from, c.To))
	}
	if len(changes) > 8 {
		changes = append(changes[:8], fmt.Sprintf("and %d more", len(changes)-8))
	}
	if step.Reason != "" {
		changes = append(changes, step.Reason)
	}
	line := output.Clean(strings.TrimRight(text+"  "+strings.Join(changes, ", "), " "))
	return g.app.printf("%s\n", g.app.fit(line, drawing.Width(text)+2))
}

// replayDiff compares the fold with the saved state at the state's own sequence, since the state may be behind the log.
func (g replays) replayDiff(x *client.Export, until uint64) error {
	if len(x.State) == 0 {
		return &events.Fault{Code: events.CodeNotFound, Message: "there is no saved state to compare with", Hint: "wait until the scheduler has saved, or leave --diff out"}
	}
	var at struct {
		Seq uint64 `json:"seq"`
	}
	if err := json.Unmarshal(x.State, &at); err != nil {
		return fmt.Errorf("saved state: %w", err)
	}
	if until > 0 && until != at.Seq {
		return usageError{fmt.Errorf("the saved state stands at sequence %d, not at %d", at.Seq, until)}
	}
	h, err := joblog.Fold(x.Resolved(), at.Seq)
	if err != nil {
		return err
	}
	text, err := h.Job.MarshalJSON()
	if err != nil {
		return err
	}
	lines, err := joblog.Differences(x.State, text)
	if err != nil {
		return err
	}
	if g.app.machine() {
		if lines == nil {
			lines = []joblog.Difference{}
		}
		if err := output.Value(g.app.sys.Stdout, g.app.output, lines); err != nil {
			return err
		}
	} else {
		for _, d := range lines {
			if err := g.app.printf("%s\n  saved  %s\n  folded %s\n", d.Field, short(string(d.Saved), 300), short(string(d.Folded), 300)); err != nil {
				return err
			}
		}
	}
	if len(lines) > 0 {
		return outcome(ExitFailed)
	}
	g.app.note("the fold of %d events up to sequence %d is the saved state", len(h.Events), at.Seq)
	return nil
}
