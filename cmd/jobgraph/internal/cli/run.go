package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// runFlags are the flags that only `run` has.
type runFlags struct {
	asked
	folder    folderFlags
	experts   []string
	store     string
	artifacts string
	resume    string
	stop      bool
	embedded  bool
	open      bool   // open serves the console, and keeps it after the end of the job.
	token     string // token is the start-up token of that console.
	beside    bool   // beside says that the cards beside the job file are used, once that is known.
}

// runs are the commands that start jobs, or the stack for them: run, submit, up, plan draft.
type runs struct{ app *app }

func (g runs) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run [GOAL…]", Short: "Run a job, watch it, and exit with its outcome",
		Long: "Run submits a job and watches it to its end. An address given by --server, NATS_URL or a context is binding:\n" +
			"when no server answers there, the exit code is 69. Without one it uses the bus at " + host.DefaultURL + " if Jobgraph is there, else\n" +
			"an embedded one for this run, with the experts of the folder experts/ beside the job file, else with jobgraph.yaml and\n" +
			"experts/ of the current folder: once you trust them, if they run programs or reach addresses. Off a terminal the experts\n" +
			"beside a job file of another folder are used without a question.\n" +
			"On a terminal it shows what experts say and do, asks what the job asks, and takes the answer; Ctrl-D leaves the question open.\n" +
			"Ctrl-C leaves a job on a running bus to run. An embedded run ends there, keeps its job, and prints the command that goes on with it.",
		RunE: func(_ *cobra.Command, args []string) error {
			if f.resume != "" {
				if err := g.resumable(&f, args); err != nil {
					return err
				}
				return g.goOn(&f)
			}
			r, err := g.app.documents.request(&f.asked, args)
			if err != nil {
				return err
			}
			if r.Schedule != nil {
				return usageError{fmt.Errorf("the job recurs: use `jobgraph submit` or `jobgraph schedule create`, or leave schedule out")}
			}
			if (f.embedded || f.open || f.store != "") && (g.app.server != "" || g.app.context != "") {
				return usageError{errors.New("--server and --context name a bus, --embedded, --open and --store want one of this run: leave out either")}
			}
			g.app.plans.weigh(&r)
			return g.run(r, &f)
		},
	}
	f.declare(c)
	f.folder.declare(c.Flags())
	c.Flags().StringArrayVar(&f.experts, "experts", nil, "expert card, or folder of them, for an embedded run; repeatable")
	c.Flags().StringVar(&f.store, "store", "", "keep the embedded run in this folder (default: a temporary one)")
	c.Flags().StringVar(&f.resume, "resume", "", "continue this job in --store, where an interrupted run left it")
	c.Flags().StringVar(&f.artifacts, "artifacts", "", "write the artifacts of the result into this folder, by SUBJOB/NAME")
	c.Flags().BoolVar(&f.embedded, "embedded", false, "use an embedded bus, even if NATS_URL is set or a bus answers")
	c.Flags().BoolVar(&f.open, "open", false, "an embedded run with the console: prints its address, and keeps it and the store until Ctrl-C")
	c.Flags().BoolVar(&f.stop, "stop-on-interrupt", false, "stop the job at Ctrl-C instead of leaving it to run, or to be resumed")
	return c
}

func (g runs) submitCommand() *cobra.Command {
	var q asked
	var recurs string
	c := &cobra.Command{
		Use: "submit [GOAL…]", Short: "Submit a job and print its id",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := g.app.documents.request(&q, args)
			if err == nil && len(r.Plan) > 0 {
				err = g.app.plans.sound(&r)
			}
			if err != nil {
				return err
			}
			if recurs != "" {
				if r.Schedule, err = recurrence(recurs); err != nil {
					return err
				}
			}
			q.choose(&r)
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				if err := q.attach(ctx, c, &r); err != nil {
					return err
				}
				receipt, err := c.Ask(ctx, r)
				if err != nil {
					return err
				}
				switch {
				case receipt.Admitted:
				case receipt.Waits != "":
					g.app.note("no job is admitted now: %s; the request waits in its queue", receipt.Waits)
				default:
					g.app.note("no scheduler has confirmed it yet: the request waits in its queue, and may still be refused when one reads it")
				}
				g.answered(&receipt, "--new")
				if receipt.ScheduleID != "" {
					g.app.note("it recurs: `jobgraph schedule get %s` shows when", receipt.ScheduleID)
				}
				if g.app.machine() {
					return output.Value(g.app.sys.Stdout, g.app.output, receipt)
				}
				return g.app.printf("%s\n", receipt.JobID)
			})
		},
	}
	q.declare(c)
	c.Flags().StringVar(&recurs, "schedule", "", `have it recur: "daily 09:00 Europe/Berlin", "every 15m", "30 9 * * mon-fri"; the id is the schedule's`)
	return c
}

// run executes a job, on an embedded stack or on a running bus.
func (g runs) run(r events.Request, f *runFlags) error {
	if r.ID == "" {
		id, err := client.NewID()
		if err != nil {
			return err
		}
		r.ID = id
	}
	if !f.embedded && !f.open && f.store == "" {
		c, err := g.answering()
		if err != nil {
			return err
		}
		if c != nil {
			defer c.Close()
			return g.runOn(c, r, f)
		}
	}
	if _, _, terminal := g.app.size(); terminal && !g.app.machine() && g.app.output != "name" {
		g.app.note("job %s, on a bus of its own", r.ID) // At once: services and models take a while.
	}
	k, err := g.startForRun(f)
	if err != nil {
		return err
	}
	free := g.bind(k)
	err = g.runHere(k, r, f)
	free()
	return g.unbound(err, k.Stop())
}

// bind ends the commands when a stack fails, since nothing continues on it; after free it no longer does.
func (g runs) bind(k *stack.Stack) (free func()) {
	outer := g.app.soft
	soft, end := context.WithCancelCause(outer)
	g.app.soft = soft
	done := make(chan struct{})
	go func() { // Ends with soft, at the latest when free ends it; free waits for it.
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
			g.app.soft = outer
		}
	}
}

// unbound returns the stack's error if the stack ended with one, else err.
func (g runs) unbound(err, stackErr error) error {
	var said outcome
	switch {
	case stackErr == nil:
		return err
	case err != nil && !errors.As(err, &said) && errors.Is(context.Cause(g.app.soft), errStackFailed):
		return stackErr
	}
	g.app.note("the embedded run did not end cleanly: %v", stackErr)
	return err
}

// probe is how long a run looks for a default bus before it starts its own.
const probe = 100 * time.Millisecond

// refused reports whether nothing listens at the address of a bus on this machine, so that trying again is useless.
func refused(ctx context.Context, address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	ctx, end := context.WithTimeout(ctx, probe)
	defer end()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err == nil {
		_ = c.Close() // Nothing was sent on it.
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// answering returns a client of the named bus, or an error if it does not answer or has no Jobgraph. If none was named, it
// returns a client of the default bus if Jobgraph is there, else nil.
func (g runs) answering() (*client.Client, error) {
	o, err := g.app.address()
	if err != nil {
		return nil, err
	}
	if g.app.namedBy() != "" {
		return g.named(o)
	}
	if refused(g.app.soft, o.URL) {
		return nil, nil
	}
	c, err := g.app.dial(o, probe)
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		return nil, err
	case err != nil:
		return nil, g.app.soft.Err()
	}
	if err := c.Bus().Streams().Check(g.app.soft); err != nil {
		c.Close()
		g.app.note("the bus at %s has no Jobgraph: this run is embedded", host.MaskURL(o.URL))
		return nil, nil
	}
	return c, nil
}

// named returns a client of the bus that was named.
func (g runs) named(o bus.Options) (*client.Client, error) {
	c, err := g.app.dial(o, reach)
	if err != nil {
		return nil, err
	}
	if err = c.Bus().Streams().Check(g.app.soft); err != nil {
		defer c.Close()
		return nil, g.app.homeless(c, err)
	}
	return c, nil
}

// startForRun starts an embedded stack for one run; its services log problems only.
func (g runs) startForRun(f *runFlags) (*stack.Stack, error) {
	s := g.stackForRun(f)
	if err := g.addFolders(&s, f); err != nil {
		return nil, err
	}
	if g.app.sys.Typing && !g.app.noInput && !s.HasModel() {
		g.addLocal(&s)
	}
	if f.open {
		if err := g.openConsole(&s, f); err != nil {
			return nil, err
		}
	}
	return stack.Start(g.app.hard, s)
}

func (g runs) stackForRun(f *runFlags) stack.Settings {
	settings := g.app.settings
	settings.HTTPAddr = host.AddrOff
	if !g.app.given("drain-timeout") {
		settings.DrainTimeout = interruptDrain // The next run continues what was in progress.
	}
	level := slog.LevelError
	if g.app.given("log-level") {
		level = settings.LogLevel
	}
	return stack.Settings{
		Host: settings, Env: g.app.sys.Env, Sandbox: g.app.sys.Sandbox, Experts: slices.Clone(f.experts), Model: f.model, Embed: embed.Settings{Store: f.store, SyncAlways: f.store != ""},
		Log: host.NewLogger(g.app.sys.Stderr, settings.LogFormat, level), Watched: g.app.sys.Typing && !g.app.noInput && g.app.output == "",
	}
}

// addFolders adds the cards beside the job file and the files of the current folder to a stack. Cards of the current folder need the
// same trust, whether a job file stands beside them or not.
func (g runs) addFolders(s *stack.Settings, f *runFlags) error {
	beside := besideExperts(f.file)
	if slices.ContainsFunc(f.experts, func(path string) bool { return beside != "" && same(path, beside) }) {
		beside = "" // A person has named them.
	}
	here := beside != "" && same(beside, "experts")
	named, _ := s.Env("JOBGRAPH_EXPERTS")
	apart := beside != "" && !here // The current folder's files are judged together, unless others were named instead.
	if apart || here && !f.folder.leave && (s.Host.Config != "" || apart || named != "" || len(s.Experts) > 0) {
		found, err := g.app.folders.beside(&f.folder, s.Env, beside, here)
		if err != nil {
			return err
		}
		s.Experts, f.beside = append(s.Experts, found.experts...), len(found.experts) > 0
	}
	before := len(s.Experts)
	err := g.addFolder(s, &f.folder, apart)
	f.beside = f.beside || here && len(s.Experts) > before
	return err
}

// same reports whether two paths lead to one folder.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// addFolder adds the files of the current folder to a stack, as far as nothing else was named and a person trusts them, and the
// keys of models in its .env. It says which of them it uses. apart says that a job file brought its own cards.
func (g runs) addFolder(s *stack.Settings, f *folderFlags, apart bool) error {
	if !f.leave {
		s.Env = g.app.folders.withKeys(s.Env)
	}
	named, _ := s.Env("JOBGRAPH_EXPERTS")
	found, err := g.app.folders.use(f, s.Env, s.Host.Config != "", apart || named != "" || len(s.Experts) > 0)
	if err != nil {
		return err
	}
	if !found.empty() {
		s.Host.ReadOnce, s.Experts = true, append(s.Experts, found.experts...)
		s.Host.Config = cmp.Or(found.config, s.Host.Config)
	}
	g.nameAccount(s)
	return nil
}

// runHere runs a job on an embedded stack.
func (g runs) runHere(k *stack.Stack, r events.Request, f *runFlags) error {
	c, err := client.Connect(g.app.soft, k.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	g.app.programless(c)
	if err := f.attach(g.app.soft, c, &r); err != nil {
		return err
	}
	id, err := c.Submit(g.app.soft, r)
	if err != nil {
		return err
	}
	return g.attend(k, c, id, f)
}

// runOn runs a job on a bus with its own services. A signal leaves the job running.
func (g runs) runOn(c *client.Client, r events.Request, f *runFlags) error {
	f.choose(&r)
	if err := f.attach(g.app.soft, c, &r); err != nil {
		return err
	}
	receipt, err := c.Ask(g.app.soft, r)
	if err != nil {
		return err
	}
	g.answered(&receipt, "--new")
	id := receipt.JobID
	talk, quiet := g.app.views.listen(g.app.soft, c, id)
	defer quiet()
	h, err := g.follow(c, id, r.User, talk)
	switch cut := context.Cause(g.app.soft) != nil; {
	case cut && f.stop:
		g.stopNow(c, id)
	case cut && err != nil:
		return g.detach(id, err)
	}
	if err != nil {
		return err
	}
	return g.finishInto(h, c, talk, f.artifacts, true)
}

// answered says which question of the session a request has answered, and what makes a job of it instead, or that one is still open.
func (g runs) answered(receipt *client.Receipt, instead string) {
	switch open := receipt.Unanswered; {
	case receipt.Answered != "":
		g.app.note("it answers request %s of job %s, which continues; %s makes a new job", receipt.Answered, receipt.JobID, instead)
	case open != nil:
		g.app.note("it is a new job: job %s still asks (request %s), and this is no answer, since %s", open.JobID, open.Request, open.Reason)
	}
}

// follow shows a job until its end, and puts its questions to the person at the terminal. With -o json it prints only the end.
func (g runs) follow(c *client.Client, id, user string, talk *watch.Talk) (*joblog.Log, error) {
	form := g.app.views.display()
	if g.app.quiet || g.app.output == "json" || g.app.output == "yaml" || g.app.output == "name" {
		form = watch.Quiet
	}
	d := g.app.openDialog(user)
	show := display{form: form, out: g.app.sys.Stdout, talk: talk}
	if d == nil {
		return g.app.views.watchUntil(g.app.soft, c, id, show, func(h *joblog.Log) bool { return over(h) || g.app.noInput && stuck(h) })
	}
	return d.converse(g.app.soft, c, func(from uint64, done func(h *joblog.Log) bool) (*joblog.Log, error) {
		show.from = from
		return g.app.views.watchUntil(g.app.soft, c, id, show, done)
	})
}

// finishInto is like finish, but also writes the files of the result, if there is one.
func (g runs) finishInto(h *joblog.Log, c *client.Client, talk *watch.Talk, dir string, kept bool) error {
	if dir == "" {
		defer g.app.files.fetchable(h, kept)
	}
	if err := g.finish(h, c, talk); err != nil {
		return err
	}
	return g.app.files.save(g.app.soft, h, c, dir)
}

// rest prints the result, or the part of it that talk has not shown.
func (g runs) rest(s *graph.State, result json.RawMessage, talk *watch.Talk) error {
	text := told(s, result)
	if said, rest := talk.Told(readable(result)); said {
		if text = output.Clean(rest); text == "" {
			return nil
		}
	}
	return g.app.printf("\n%s\n", text)
}

// finish prints the result, unless talk has shown it, and returns the exit code of the job.
func (g runs) finish(h *joblog.Log, c *client.Client, talk *watch.Talk) error {
	s := h.Job.View()
	result := g.app.views.result(h, c)
	if g.app.output == "json" || g.app.output == "jsonl" || g.app.output == "yaml" {
		e := g.app.views.standing(h, c)
		if err := output.Value(g.app.sys.Stdout, g.app.output, e); err != nil {
			return err
		}
		return g.app.views.ended(h)
	}
	if g.app.output == "name" {
		if err := g.app.printf("%s\n", s.ID); err != nil {
			return err
		}
		return g.app.views.ended(h)
	}
	if len(result) > 0 {
		if err := g.rest(s, result, talk); err != nil {
			return err
		}
	}
	if s.Outcome == events.OutcomeGuidance {
		g.app.note("job %s could not be planned; say what is missing, and submit it again", s.ID)
	}
	if cost := spent(s.Cost); cost != "" {
		g.app.note("job %s took %s: %s", s.ID, output.Between(s.Created, s.Ended), cost)
	} else if talk != nil {
		g.app.note("job %s took %s", s.ID, output.Between(s.Created, s.Ended))
	}
	if s.Error != nil {
		g.app.complain(reason(s.Error))
	}
	return g.app.views.ended(h)
}
