package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/live"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// runFlags are those that only `run` has.
type runFlags struct {
	asked
	experts   []string
	store     string
	artifacts string
	stop      bool
	embedded  bool
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run [GOAL…]", Short: "Run a job, watch it, and exit as it ends",
		Long: "Run submits a job and watches it to its end. An address given by --server, NATS_URL or a context is binding:\n" +
			"when nobody answers there, the exit code is 69. Without one it uses the bus at " + host.DefaultURL + " if Jobgraph is there, else\n" +
			"an embedded one for this run, with the experts of the folder experts/ beside the job file.",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			r, err := a.request(&f.asked, args)
			if err != nil {
				return err
			}
			if r.Schedule != nil {
				return usageError{fmt.Errorf("the job recurs: use `jobgraph submit` or `jobgraph schedule create`, or leave schedule out")}
			}
			if (f.embedded || f.store != "") && (a.server != "" || a.context != "") {
				return usageError{errors.New("--server and --context name a bus, --embedded and --store want one of this run: leave out either")}
			}
			return a.run(r, &f)
		},
	}
	f.declare(c)
	c.Flags().StringArrayVar(&f.experts, "experts", nil, "expert card, or folder of them, for an embedded run; repeatable")
	c.Flags().StringVar(&f.store, "store", "", "keep the embedded run in this folder; a temporary one otherwise")
	c.Flags().StringVar(&f.artifacts, "artifacts", "", "write the artifacts of the result into this folder, by SUBJOB/NAME")
	c.Flags().BoolVar(&f.embedded, "embedded", false, "use an embedded bus, whatever NATS_URL names and whoever answers")
	c.Flags().BoolVar(&f.stop, "stop-on-interrupt", false, "stop the job at Ctrl-C instead of leaving it to run")
	return c
}

func (a *app) submitCommand() *cobra.Command {
	var q asked
	var recurs string
	c := &cobra.Command{
		Use: "submit [GOAL…]", Short: "Ask for a job and print its id",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			r, err := a.request(&q, args)
			if err != nil {
				return err
			}
			if recurs != "" {
				if r.Schedule, err = recurrence(recurs); err != nil {
					return err
				}
			}
			q.choose(&r)
			return a.with(func(ctx context.Context, c *client.Client) error {
				if err := q.attach(ctx, c, &r); err != nil {
					return err
				}
				receipt, err := c.Ask(ctx, r)
				if err != nil {
					return err
				}
				if !receipt.Admitted {
					a.note("no scheduler has confirmed it yet: the request waits in its queue, and may still be refused when one reads it")
				}
				if receipt.ScheduleID != "" {
					a.note("it recurs: `jobgraph schedule get %s` shows when", receipt.ScheduleID)
				}
				if a.machine() {
					return render.Value(a.sys.Stdout, a.output, receipt)
				}
				return a.printf("%s\n", receipt.JobID)
			})
		},
	}
	q.declare(c)
	c.Flags().StringVar(&recurs, "schedule", "", `have it recur: "daily 09:00 Europe/Berlin", "every 15m", "30 9 * * mon-fri"; the id is the schedule's`)
	return c
}

// run carries a job out, here or on a bus that answers.
func (a *app) run(r events.Request, f *runFlags) error {
	if r.ID == "" {
		id, err := client.NewID()
		if err != nil {
			return err
		}
		r.ID = id
	}
	if !f.embedded && f.store == "" {
		c, err := a.answering()
		if err != nil {
			return err
		}
		if c != nil {
			defer c.Close()
			return a.runOn(c, r, f)
		}
	}
	k, err := a.startForRun(f)
	if err != nil {
		return err
	}
	free := a.bind(k)
	err = a.runHere(k, r, f)
	free()
	return a.unbound(err, k.Stop())
}

// bind has everything end with a stack that fails, on which nothing moves any more. free ends that.
func (a *app) bind(k *stack.Stack) (free func()) {
	outer := a.soft
	soft, end := context.WithCancelCause(outer)
	a.soft = soft
	done := make(chan struct{})
	go func() { // Ends with soft, which free ends at the latest; free waits for it.
		defer close(done)
		select {
		case <-k.Failed():
			end(errStackFailed)
		case <-soft.Done():
		}
	}()
	return func() {
		end(nil)
		if <-done; !errors.Is(context.Cause(soft), errStackFailed) {
			a.soft = outer
		}
	}
}

// unbound is the error of what was done on a stack that has ended with an error, or nil, of its own.
func (a *app) unbound(err, stackErr error) error {
	var said outcome
	switch {
	case stackErr == nil:
		return err
	case err != nil && !errors.As(err, &said) && errors.Is(context.Cause(a.soft), errStackFailed):
		return stackErr
	}
	a.note("the embedded run did not end cleanly: %v", stackErr)
	return err
}

// probe is how long a run looks for a bus that nobody has named before it makes its own: one attempt, and another one after a
// refusal.
const probe = 100 * time.Millisecond

// answering gives a client of the bus that was named, and an error when that one does not answer or has no Jobgraph. When none
// was named it gives a client of the default one if Jobgraph is there, and nil otherwise.
func (a *app) answering() (*client.Client, error) {
	o, err := a.address()
	if err != nil {
		return nil, err
	}
	if a.namedBy() != "" {
		return a.named(o)
	}
	c, err := a.dial(o, probe)
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		return nil, err
	case err != nil:
		return nil, a.soft.Err()
	}
	if err := c.Bus().Check(a.soft); err != nil {
		c.Close()
		a.note("the bus at %s has no Jobgraph: this run is embedded", host.MaskURL(o.URL))
		return nil, nil
	}
	return c, nil
}

// named gives a client of the bus that was named.
func (a *app) named(o bus.Options) (*client.Client, error) {
	c, err := a.dial(o, reach)
	if err != nil {
		return nil, err
	}
	if err = c.Bus().Check(a.soft); err != nil {
		defer c.Close()
		return nil, a.homeless(c, err)
	}
	return c, nil
}

// given reports whether a setting was given at all.
func (a *app) given(name string) bool {
	return a.source(name) != host.FromDefault
}

// source says where the value of a setting comes from.
func (a *app) source(name string) host.Source {
	for _, s := range a.flags.List() {
		if s.Name == name {
			return s.Source
		}
	}
	return host.FromDefault
}

// startForRun starts an embedded stack for one run; its services only speak when something is wrong.
func (a *app) startForRun(f *runFlags) (*stack.Stack, error) {
	return stack.Start(a.hard, a.stackForRun(f))
}

func (a *app) stackForRun(f *runFlags) stack.Settings {
	settings := a.settings
	settings.HTTPAddr = host.AddrOff
	level := slog.LevelError
	if a.given("log-level") {
		level = settings.LogLevel
	}
	experts := f.experts
	if dir := besideExperts(f.file); dir != "" {
		experts = append(experts, dir)
	}
	return stack.Settings{
		Host: settings, Env: a.sys.Env, Sandbox: a.sys.Sandbox, Experts: experts, Model: f.model, Embed: embed.Settings{Store: f.store, SyncAlways: f.store != ""},
		Log: host.NewLogger(a.sys.Stderr, settings.LogFormat, level),
	}
}

// runHere runs a job on an embedded stack. A signal stops it with everything else, and so does an output that nobody reads.
func (a *app) runHere(k *stack.Stack, r events.Request, f *runFlags) error {
	c, err := client.Connect(a.soft, k.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := f.attach(a.soft, c, &r); err != nil {
		return err
	}
	id, err := c.Submit(a.soft, r)
	if err != nil {
		return err
	}
	h, err := a.follow(c, id)
	if cause := context.Cause(a.soft); errors.Is(cause, errInterrupted) || errors.Is(cause, errUnread) {
		a.stopNow(c, id)
		if dir, temporary := k.Server().Store(); !temporary {
			a.note("job %s is kept in %s", id, dir)
		}
	}
	if err != nil {
		return err
	}
	return a.finishInto(h, c, f.artifacts, f.store != "")
}

// runOn runs a job on a bus with services of its own. A signal leaves it running.
func (a *app) runOn(c *client.Client, r events.Request, f *runFlags) error {
	f.choose(&r)
	if err := f.attach(a.soft, c, &r); err != nil {
		return err
	}
	id, err := c.Submit(a.soft, r)
	if err != nil {
		return err
	}
	h, err := a.follow(c, id)
	if cause := context.Cause(a.soft); cause != nil {
		if f.stop {
			a.stopNow(c, id)
		} else {
			a.note("job %s goes on; `jobgraph watch %s` shows it, `jobgraph stop %s` stops it", id, id, id)
			if printErr := a.printf("%s\n", id); printErr != nil {
				return printErr
			}
		}
	}
	if err != nil {
		return err
	}
	return a.finishInto(h, c, f.artifacts, true)
}

// stopNow stops a job in the short time that is left.
func (a *app) stopNow(c *client.Client, id string) {
	ctx, cancel := context.WithTimeout(a.hard, 10*time.Second)
	defer cancel()
	err := c.Stop(ctx, id, events.StopRequested{Reason: "interrupted", By: "cli"})
	if err != nil && !errors.Is(err, bus.ErrConflict) {
		a.note("job %s was not stopped: %v", id, err)
	}
}

// follow shows a job to its end. With -o json only the end is printed.
func (a *app) follow(c *client.Client, id string) (*history.History, error) {
	form := a.display()
	if a.quiet || a.output == "json" || a.output == "yaml" || a.output == "name" {
		form = live.Quiet
	}
	return a.watch(a.soft, c, id, 0, form)
}

// ending is what a program gets of a job that has ended. What it took and cost is said also when that is nothing.
type ending struct {
	JobID  string          `json:"job_id"`
	Status events.Status   `json:"status"`
	Result json.RawMessage `json:"result,omitempty"`
	// Partial is true when the job has not finished: what it gives is what some of its SubJobs gave.
	Partial    bool          `json:"partial,omitempty"`
	Artifacts  []events.Ref  `json:"artifacts,omitempty"`
	Error      *events.Fault `json:"error,omitempty"`
	Faults     events.Faults `json:"faults,omitempty"`
	DurationMS int64         `json:"duration_ms"`
	Progress   any           `json:"progress"`
	cost
}

// cost is what was spent, for programs: nothing is a zero.
type cost struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// finishInto is finish, and writes the artifacts of a result that there is.
func (a *app) finishInto(h *history.History, c *client.Client, dir string, kept bool) error {
	if dir == "" {
		defer a.fetchable(h, kept)
	}
	if err := a.finish(h, c); err != nil {
		return err
	}
	return a.saveArtifacts(a.soft, h, c, dir)
}

// finish prints what came out, and exits as the job did.
func (a *app) finish(h *history.History, c *client.Client) error {
	s := h.Job.View()
	result := a.result(h, c)
	if a.output == "json" || a.output == "jsonl" || a.output == "yaml" {
		e := ending{JobID: s.ID, Status: s.Status, Result: result, Partial: partial(s), Artifacts: h.Belongings(), Error: s.Error, Faults: rejected(h), Progress: s.Progress, cost: cost(s.Cost)}
		if !s.Ended.IsZero() {
			e.DurationMS = s.Ended.Sub(s.Created).Milliseconds()
		}
		if err := render.Value(a.sys.Stdout, a.output, e); err != nil {
			return err
		}
		return a.ended(h)
	}
	if a.output == "name" {
		if err := a.printf("%s\n", s.ID); err != nil {
			return err
		}
		return a.ended(h)
	}
	if len(result) > 0 {
		if err := a.printf("\n%s\n", told(s, result)); err != nil {
			return err
		}
	}
	if s.Error != nil {
		a.complain(reason(s.Error))
	}
	return a.ended(h)
}
