package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// target is a job, or one SubJob of it: ID or ID/SUBJOB.
type target struct{ job, subjob string }

func parseTarget(text string) (target, error) {
	job, subjob, both := strings.Cut(text, "/")
	if !events.ValidToken(job) || both && !events.ValidToken(subjob) {
		return target{}, usageError{fmt.Errorf("%q is neither ID nor ID/SUBJOB", text)}
	}
	return target{job, subjob}, nil
}

// subjobOf parses a target that must name a SubJob.
func subjobOf(text string) (target, error) {
	t, err := parseTarget(text)
	if err == nil && t.subjob == "" {
		err = usageError{fmt.Errorf("%q names no SubJob: write ID/SUBJOB", text)}
	}
	return t, err
}

// jobOf returns the job for a command about whole jobs. Naming a SubJob is a fault, since the command would affect the
// whole job. instead are commands to suggest, with JOB and SUBJOB as placeholders.
func jobOf(command, text string, instead ...string) (string, error) {
	t, err := parseTarget(text)
	if err != nil || t.subjob == "" {
		return t.job, err
	}
	return "", usageError{events.Faults{{
		Code: events.CodeInvalid, Field: text,
		Message: fmt.Sprintf("%s is for whole jobs, and this is SubJob %s of job %s", command, t.subjob, t.job),
		Hint:    strings.NewReplacer("SUBJOB", t.subjob, "JOB", t.job).Replace(strings.Join(instead, ", or ")),
	}}}
}

// nearJobs limits the number of jobs that are searched for a similar id.
const nearJobs = 10_000

// load folds a job's log for commands that change it: a job in quarantine is an error.
func (a *app) load(ctx context.Context, c *client.Client, t target) (*joblog.Log, error) {
	h, err := a.look(ctx, c, t)
	if err == nil {
		err = h.Aside
	}
	return h, err
}

// look folds a job's log for commands that only show it: for a job in quarantine it returns what can be folded and why the
// rest cannot. The error for a job that does not exist suggests similar ids.
func (a *app) look(ctx context.Context, c *client.Client, t target) (*joblog.Log, error) {
	h, err := c.Logs().Fold(ctx, t.job, 0)
	if errors.Is(err, bus.ErrNotFound) && h.Job == nil {
		return nil, a.unknownJob(ctx, c, t.job)
	}
	switch aside, lookErr := a.quarantine(ctx, c, t.job, err != nil); {
	case lookErr != nil:
		return nil, lookErr
	case err != nil && (aside == nil || h.Job == nil):
		return nil, errors.Join(aside, err)
	default:
		h.Aside = aside
	}
	if t.subjob == "" {
		return h, nil
	}
	var ids []string
	for _, n := range h.Job.View().SubJobs {
		if n.ID == t.subjob {
			return h, nil
		}
		ids = append(ids, n.ID)
	}
	return nil, notFound("SubJob", t.subjob, host.Near(t.subjob, ids), "jobgraph graph "+t.job)
}

// patience is how long to wait for a job's quarantine after an event that cannot be understood.
const patience = time.Second

// quarantine returns why a job is in quarantine, or nil. A fold that fails here will fail at the scheduler too, unless the
// scheduler is of a later version.
func (a *app) quarantine(ctx context.Context, c *client.Client, job string, failed bool) (aside, err error) {
	saved, err := c.Get(ctx, job)
	switch {
	case errors.Is(err, bus.ErrNotFound):
	case err != nil:
		return nil, err
	case saved.Quarantined != nil:
		return saved.Quarantine(), nil
	}
	if !failed {
		return nil, nil
	}
	watched, stop, err := c.Quarantine().Watch(ctx, job)
	if err != nil {
		return nil, err
	}
	defer stop()
	return inQuarantine(watched, patience), nil
}

// inQuarantine waits until a watched job is in quarantine and returns the reason; nil if that takes too long.
func inQuarantine(watched context.Context, within time.Duration) error {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-watched.Done():
	case <-timer.C:
	}
	if cause := context.Cause(watched); errors.Is(cause, client.ErrQuarantined) {
		return cause
	}
	return nil
}

func (a *app) unknownJob(ctx context.Context, c *client.Client, job string) error {
	if _, err := c.Head(ctx, job); errors.Is(err, client.ErrNotAdmitted) {
		return err
	}
	ids, err := c.IDs(ctx)
	if err != nil || len(ids) > nearJobs {
		ids = nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == job }) // A key without a job suggests nothing.
	return notFound("job", job, host.Near(job, ids), "jobgraph list")
}

// notFound returns the error for an unknown id. like are ids with a similar spelling; if there are none, the command in
// list shows all.
func notFound(what, id string, like []string, list string) error {
	f := events.Fault{
		Code: events.CodeNotFound, Field: strings.ToLower(what), Message: fmt.Sprintf("there is no %s %q", what, id), Hint: fmt.Sprintf("%s shows the %ss there are", list, what),
	}
	if len(like) > 0 {
		f.Hint = "did you mean " + strings.Join(like, " or ") + "?"
	}
	return fmt.Errorf("%w: %w", bus.ErrNotFound, events.Faults{f})
}

// with connects, calls a function and disconnects.
func (a *app) with(do func(ctx context.Context, c *client.Client) error) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	err = do(a.soft, c)
	if code := exitCode(a.soft, err); code == ExitNotFound || code == ExitUnavailable {
		return a.homeless(c, err)
	}
	return err
}

// homeless adds to an error that the bus has no Jobgraph, if that is the cause.
func (a *app) homeless(c *client.Client, err error) error {
	n := c.Names()
	if _, infoErr := c.Bus().Streams().Info(a.soft, n.Log); !errors.Is(infoErr, bus.ErrNotFound) {
		return a.placed(unanswered(err))
	}
	flag := ""
	if n.Prefix() != events.DefaultPrefix {
		flag = "--prefix " + n.Prefix() + " "
	}
	cause := "stream " + n.Log + " does not exist"
	if o, addressErr := a.address(); addressErr == nil {
		cause += " at " + a.place(o)
	}
	return fmt.Errorf("%w: %w", bus.ErrUnavailable, &events.Fault{
		Code: events.CodeUnavailable, Message: fmt.Sprintf("this bus has no Jobgraph under prefix %q", n.Prefix()), Cause: cause,
		Hint: "`jobgraph " + flag + "init` makes one; or name another bus with --server or NATS_URL, or another --prefix",
	})
}

// unanswered adds what to check if the bus does not acknowledge: a server that cannot write does not answer.
func unanswered(err error) error {
	if !errors.Is(err, bus.ErrUnknown) || len(faultsOf(err)) > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", bus.ErrUnknown, &events.Fault{
		Code: events.CodeUnavailable, Message: "the bus has not acknowledged it", Cause: err.Error(),
		Hint: "is the disk of its server full? See what `jobgraph up` or nats-server says, then look whether it was done, and ask again under the same --id",
	})
}

// connected makes a command about one session.
func (a *app) connected(use, short string, args cobra.PositionalArgs, do func(ctx context.Context, c *client.Client, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.with(func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
		},
	}
}
