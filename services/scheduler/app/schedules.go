package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
	_ "time/tzdata" // The container images contain no time zone files.

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
)

// newKeeper makes the component that executes the schedules.
func (r *scheduler) newKeeper() *recurring.Keeper {
	jobs := runs{r.bus, r.admitter, r.gate}
	k := recurring.New(r.bus.Schedules(), jobs, time.LoadLocation, r.process.Log)
	k.Results, k.Reporter, k.Count, k.Hook = jobs, jobs, r.meter.CountRun, r.Hook
	return k
}

// schedules maintains all schedules and starts their runs.
func (r *scheduler) schedules(work context.Context) host.Member {
	return reading("schedules", r.bus.Schedules().Follow, func(ctx context.Context, facts *bus.Subscription) error {
		return r.keeper.Run(ctx, work, facts)
	})
}

// steps executes SubJobs that recur, by creating their schedules.
func (r *scheduler) steps(work context.Context) host.Member {
	open := func(ctx context.Context) (*bus.Subscription, error) {
		return r.bus.Queues().Consume(ctx, r.bus.Queues().ForeignConsumer(schedule.Pool))
	}
	return reading("steps that recur", open, func(ctx context.Context, queue *bus.Subscription) error {
		return r.keeper.Steps(ctx, work, queue)
	})
}

// reading returns a member of the process that opens a subscription, which it retries until it succeeds, and passes the subscription
// to run.
func reading(name string, open func(context.Context) (*bus.Subscription, error), run func(context.Context, *bus.Subscription) error) host.Member {
	return host.Member{Name: name, Run: func(ctx context.Context, ready func()) error {
		var from *bus.Subscription
		err := bus.Await(ctx, func() (err error) {
			from, err = open(ctx)
			return err
		})
		if err != nil {
			return err
		}
		defer from.Stop()
		ready()
		return run(ctx, from)
	}}
}

// retryEnds is the wait before a lost consumer of job ends is opened again.
const retryEnds = time.Second

// ends passes the ends of jobs to the schedules that started them. A deleted consumer is created again.
func (r *scheduler) ends() host.Member {
	return host.Member{Name: "ends of runs", Run: func(ctx context.Context, ready func()) error {
		ready()
		for ctx.Err() == nil {
			err := r.takeEnds(ctx)
			if ctx.Err() != nil || errors.Is(err, bus.ErrClosed) {
				return nil
			}
			r.process.Log.Warn("reading job ends interrupted", slog.Any("error", err))
			_ = lease.Pause(ctx, retryEnds) // Fails only when the loop ends.
			if err := r.bus.Queues().EnsureConsumer(ctx, r.bus.Queues().EndsConsumer()); err != nil && ctx.Err() == nil {
				r.process.Log.Warn("cannot create the consumer of job ends", slog.Any("error", err))
			}
		}
		return nil
	}}
}

func (r *scheduler) takeEnds(ctx context.Context) error {
	sub, err := r.bus.Queues().Consume(ctx, r.bus.Queues().EndsConsumer())
	if err != nil {
		return err
	}
	defer sub.Stop()
	return r.keeper.Ends(ctx, sub)
}

// runs submits the jobs of schedules, like any other request.
type runs struct {
	bus      *bus.Bus
	admitter *intake.Admitter
	gate     *intake.Gate
}

// Admit submits a job, once.
func (j runs) Admit(ctx context.Context, request []byte) error {
	if reason := j.gate.Closed(ctx); reason != "" && !j.gate.Try() {
		return fmt.Errorf("%w: no job is admitted: %s", bus.ErrUnavailable, reason)
	}
	_, err := j.admitter.Admit(ctx, request, intake.Origin{Scheduled: true})
	return err
}

// Stop asks a job to stop.
func (j runs) Stop(ctx context.Context, job, word, reason string) error {
	m, err := events.Encode(j.bus.Names(), events.Event{
		Kind: events.KindStopRequested, ID: word, Job: job, Source: "jobgraph/schedule", Data: &events.StopRequested{Reason: reason},
	})
	if err != nil {
		return err
	}
	m.Header[events.HeaderMsgID] = []string{word}
	_, err = j.bus.Publish(ctx, m, bus.Expect{})
	return err
}

// Exists reports whether anything is left of the job that was submitted for a run. A job of another user, or of no schedule, is
// another one under the same id.
func (j runs) Exists(ctx context.Context, run *events.Request) (bool, error) {
	for e, err := range j.bus.Log().EventsOf(ctx, run.ID, 0) {
		if err != nil {
			return false, err
		}
		first, ok := e.Data.(*events.JobRequested)
		return !ok || first.Request.User == run.User && first.Request.Labels[schedule.Label] == run.Labels[schedule.Label], nil
	}
	return false, nil
}

// Result is the result of a finished job, if its end contains it.
func (j runs) Result(ctx context.Context, job string) (json.RawMessage, error) {
	e, err := j.bus.Log().LastOf(ctx, job, events.KindJobFinished)
	if ended, ok := e.Data.(*events.JobEnded); ok && err == nil {
		return ended.Result, nil
	}
	return nil, err
}

// Report publishes the end of a run of a Step, once.
func (j runs) Report(ctx context.Context, e events.Event) error {
	said, err := service.NewLog(j.bus, nil, true).Once(e)
	if err != nil {
		return err
	}
	if _, err = said.Wait(ctx); errors.Is(err, bus.ErrConflict) {
		return nil
	}
	return err
}
