package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g views) whyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "why ID[/SUBJOB]", Short: "Explain why something is not running, and what would unblock it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			err := g.see(args[0], func(h *joblog.Log, c *client.Client) error {
				t, _ := parseTarget(args[0]) // Checked by see.
				return g.why(h, c, t.subjob)
			})
			var f *events.Fault
			if errors.Is(err, client.ErrNotAdmitted) && errors.As(err, &f) {
				return g.writeWhy([]graph.Blocker{{Code: "admission", Message: f.Message, Unblock: f.Hint}})
			}
			return g.unstored(err)
		},
	}
}

// unstored adds to the error about a job that does not exist that the bus stores nothing.
func (g views) unstored(err error) error {
	if !errors.Is(err, client.ErrNotFound) {
		return err
	}
	_ = g.app.with(func(_ context.Context, c *client.Client) error { // It only adds detail.
		for _, b := range g.mute(c) {
			g.app.note("%s", blocked(b))
		}
		return nil
	})
	return err
}

// why writes why a job or SubJob is not running.
func (g views) why(h *joblog.Log, c *client.Client, subjob string) error {
	blockers := g.absent(h, c, g.delayed(h, g.claimed(h, c, limited(h, g.reasons(h, h.Job.Why(subjob))))))
	blockers = append(g.unsigned(h, c), blockers...)
	if f := aside(h); f != nil { // A quarantine takes precedence over everything else.
		blockers = append([]graph.Blocker{{Code: "quarantine", Message: strings.TrimSuffix(f.Message+": "+f.Cause, ": "), Unblock: f.Hint}}, blockers...)
	}
	if !h.Job.Status.Terminal() {
		blockers = append(g.mute(c), blockers...)
	}
	return g.writeWhy(blockers)
}

// mute returns the reason that the bus stores nothing. It returns nothing if the bus stores, or if no scheduler answers.
func (g views) mute(c *client.Client) []graph.Blocker {
	ctx, cancel := context.WithTimeout(g.app.soft, admissionBound)
	defer cancel()
	f, err := client.SupplyOf(c).Admission(ctx)
	if err != nil || f == nil || f.Field != "disk" {
		return nil
	}
	return []graph.Blocker{{Code: "disk", Message: f.Message + ": " + f.Cause, Unblock: f.Hint}}
}

// unsigned returns the answers and control events of a job that do not count.
func (g views) unsigned(h *joblog.Log, c *client.Client) (list []graph.Blocker) {
	dead, err := c.Bus().DeadLetters().List(g.app.soft)
	if err != nil {
		return nil // It is only additional information.
	}
	of := strings.TrimSuffix(c.Names().JobEvents(h.Job.ID), ">")
	for i := range dead {
		if d := &dead[i]; d.Kind == bus.DeadFact && strings.HasPrefix(d.Message.Subject, of) {
			list = append(list, graph.Blocker{Code: "signature", Message: fmt.Sprintf("event %d: %s", d.Seq, d.Reason), Unblock: "jobgraph dlq show " + d.ID()})
		}
	}
	return list
}

// reasons adds the run's own text to waits: the question to a person, or why the run continues later. In output for people it is
// quoted, so that none of its lines looks like one of the program's.
func (g views) reasons(h *joblog.Log, blockers []graph.Blocker) []graph.Blocker {
	for i := range blockers {
		b := &blockers[i]
		if b.Code != "timer" && b.Code != "input" {
			continue
		}
		for _, in := range h.Job.View().Inputs {
			e := h.At(in.Seq)
			if e == nil || in.SubJob != b.SubJob || in.Closing != "" || (in.Kind == events.InputTimer) != (b.Code == "timer") {
				continue
			}
			if asked, ok := e.Data.(*events.InputRequested); ok && asked.Prompt != "" {
				b.Message += g.said(asked.Prompt)
			}
		}
	}
	return blockers
}

// delayed adds to each run in progress until when it was put off and why, if that is its latest milestone.
func (g views) delayed(h *joblog.Log, blockers []graph.Blocker) []graph.Blocker {
	for i := range blockers {
		b := &blockers[i]
		if b.Code != "work" && b.Code != "running" {
			continue
		}
		for _, e := range slices.Backward(h.Events) {
			p, ok := e.Data.(*events.SubJobProgressed)
			if !ok || e.SubJob != b.SubJob {
				continue
			}
			if !p.Until.IsZero() {
				b.Message += "; put off until " + stamp(p.Until) + g.said(p.Message)
			}
			break
		}
	}
	return blockers
}

// limited adds to failures how often they may be retried, and who set that limit.
func limited(h *joblog.Log, blockers []graph.Blocker) []graph.Blocker {
	for i := range blockers {
		b := &blockers[i]
		n := h.Node(b.SubJob)
		if n == nil || n.Attempts == 0 || b.Code != "retry" && b.Code != "ended" {
			continue
		}
		for _, limit := range h.Limits(n.ID) {
			b.Message += fmt.Sprintf("; %s %s: %s", limit.Name, limit.Value, limit.By)
		}
	}
	return blockers
}

func (g views) said(prompt string) string {
	if g.app.machine() {
		return ": " + prompt
	}
	return ":\n" + output.Quote(prompt)
}

func (g views) writeWhy(blockers []graph.Blocker) error {
	if g.app.machine() {
		if blockers == nil {
			blockers = []graph.Blocker{}
		}
		return output.Value(g.app.sys.Stdout, g.app.output, blockers)
	}
	for _, b := range blockers {
		if err := g.app.printf("%s\n", output.Clean(blocked(b))); err != nil {
			return err
		}
	}
	return nil
}

func blocked(b graph.Blocker) string {
	text := b.Message
	if b.SubJob != "" {
		text = fmt.Sprintf("%s: %s", b.SubJob, b.Message)
	}
	if b.Unblock != "" {
		text += "\n  → " + b.Unblock
	}
	return text
}
