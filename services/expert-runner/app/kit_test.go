package app_test

import (
	"context"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// start starts a runner on its own connection, and returns when it is ready.
func start(w *servicetest.Env, s app.Settings, d app.Deps) *servicetest.Service {
	w.Helper()
	name := d.Owner
	if name == "" {
		name = "expert-runner"
	}
	if d.Bus == nil {
		d.Bus = w.Server.Connect(name)
	}
	if s.Prefetch == 0 {
		s.Prefetch, s.Pools = app.Default().Prefetch, app.Default().Pools
	}
	return w.Start(name, host.Settings{}, func(ctx context.Context, p *host.Process) error { return app.Run(ctx, p, s, d) }).Await()
}

// work makes a work message.
func work(expert, job, subjob string, run int) events.Work {
	return events.Work{
		Kind: events.WorkExecute, Job: job, SubJob: subjob, Run: run, Attempt: 1, Goal: "do it", LifeCycle: 3,
		IdempotencyKey: job + "/" + subjob + "/" + strconv.Itoa(run), Lease: events.Duration(30 * time.Second),
		Spec: events.SubJob{ID: subjob, Goal: "do it", Expert: expert},
	}
}

// state saves a job's state in which the run is open, or not.
func state(w *servicetest.Env, o events.Work, open bool) {
	w.Helper()
	body := `{"id":"` + o.Job + `","status":"RUNNING","subjobs":[{"id":"` + o.SubJob + `","status":"RUNNING","run":` +
		strconv.Itoa(o.Run) + `,"open":` + strconv.FormatBool(open) + `}]}`
	musttest.Get(w.Bus.State().Put(w.Context(), o.Job, []byte(body), 0))(w)
}

// function returns an expert in Go with an id.
func function(id string, pure bool, f app.Func) app.Function {
	return app.Function{Card: events.Card{ID: id, Name: id, Pure: pure}, Run: f}
}
