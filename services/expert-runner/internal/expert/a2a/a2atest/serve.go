package a2atest

import (
	"context"
	"iter"
	"log/slog"
	"net/http"

	legacy "github.com/a2aproject/a2a-go/a2a"
	legacysrv "github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	legacypush "github.com/a2aproject/a2a-go/a2asrv/push"
	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
)

// new returns the server of spec 1.0.
func (a *Agent) new() http.Handler {
	options := []a2asrv.RequestHandlerOption{a2asrv.WithLogger(slog.New(slog.DiscardHandler))}
	if a.settings.Push {
		options = append(options, a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	}
	handler := a2asrv.NewHandler(&executor{a}, options...)
	if a.settings.REST {
		return http.StripPrefix("/call", a2asrv.NewRESTHandler(handler))
	}
	return a2asrv.NewJSONRPCHandler(handler)
}

// executor plays for the server of spec 1.0.
type executor struct{ agent *Agent }

// Execute implements a2asrv.AgentExecutor.
func (x *executor) Execute(ctx context.Context, c *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		goes := true
		x.agent.perform(ctx, &Stage{Message: c.Message, Fresh: c.StoredTask == nil, info: c.TaskInfo(), emit: func(e sdk.Event) bool {
			goes = goes && yield(e, nil)
			return goes
		}})
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (x *executor) Cancel(_ context.Context, c *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		x.agent.cancelled(string(c.TaskID))
		yield(sdk.NewStatusUpdateEvent(c, sdk.TaskStateCanceled, nil), nil)
	}
}

// old returns the server of spec 0.3.
func (a *Agent) old() http.Handler {
	options := []legacysrv.RequestHandlerOption{legacysrv.WithLogger(slog.New(slog.DiscardHandler))}
	if a.settings.Push {
		options = append(options, legacysrv.WithPushNotifications(legacypush.NewInMemoryStore(), legacypush.NewHTTPPushSender(nil)))
	}
	return legacysrv.NewJSONRPCHandler(legacysrv.NewHandler(&oldExecutor{a}, options...))
}

// oldExecutor plays for the server of spec 0.3.
type oldExecutor struct{ agent *Agent }

// Execute implements a2asrv.AgentExecutor of spec 0.3.
func (x *oldExecutor) Execute(ctx context.Context, c *legacysrv.RequestContext, q eventqueue.Queue) error {
	m, err := a2av0.ToV1Message(c.Message)
	if err != nil {
		return err
	}
	info := sdk.TaskInfo{TaskID: sdk.TaskID(c.TaskID), ContextID: c.ContextID}
	x.agent.perform(ctx, &Stage{Message: m, Fresh: c.StoredTask == nil, info: info, emit: func(e sdk.Event) bool {
		var told legacy.Event
		if err == nil {
			told, err = a2av0.FromV1Event(e)
		}
		if err == nil {
			err = q.Write(ctx, told)
		}
		return err == nil
	}})
	return err
}

// Cancel implements a2asrv.AgentExecutor of spec 0.3.
func (x *oldExecutor) Cancel(ctx context.Context, c *legacysrv.RequestContext, q eventqueue.Queue) error {
	x.agent.cancelled(string(c.TaskID))
	e := legacy.NewStatusUpdateEvent(c, legacy.TaskStateCanceled, nil)
	e.Final = true
	return q.Write(ctx, e)
}
