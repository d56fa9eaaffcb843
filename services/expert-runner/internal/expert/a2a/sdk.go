package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	sdklog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/legacy"
)

// transport makes the calls of one version of the spec over one binding.
type transport interface {
	messages
	tasks
}

// messages is how a transport sends messages.
type messages interface {
	SendMessage(context.Context, a2aclient.ServiceParams, *sdk.SendMessageRequest) (sdk.SendMessageResult, error)
	SendStreamingMessage(context.Context, a2aclient.ServiceParams, *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error]
	CreateTaskPushConfig(context.Context, a2aclient.ServiceParams, *sdk.PushConfig) (*sdk.PushConfig, error)
}

// tasks is how a transport asks about tasks.
type tasks interface {
	GetTask(context.Context, a2aclient.ServiceParams, *sdk.GetTaskRequest) (*sdk.Task, error)
	SubscribeToTask(context.Context, a2aclient.ServiceParams, *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error]
	CancelTask(context.Context, a2aclient.ServiceParams, *sdk.CancelTaskRequest) (*sdk.Task, error)
}

// remote is a peer behind the transport for the version and the binding of its card.
type remote struct {
	transport transport
	line      *line
	card      *Card
}

// newRemote returns the peer of one run.
func newRemote(c *Card, d *dialer, maxBytes int64, redactor *redact.Redactor) *remote {
	l := &line{next: d, host: c.endpoint.Host, left: maxBytes, redactor: redactor}
	client := &http.Client{Transport: l, CheckRedirect: checkRedirect}
	r := &remote{line: l, card: c}
	switch {
	case c.version == version03:
		r.transport = legacy.NewTransport(c.endpoint.String(), client)
	case c.binding == bindingREST:
		r.transport = a2aclient.NewRESTTransport(c.endpoint, client)
	default:
		r.transport = a2aclient.NewJSONRPCTransport(c.endpoint.String(), client)
	}
	return r
}

// params are sent with every call.
func (r *remote) params(key string) a2aclient.ServiceParams {
	p := a2aclient.ServiceParams{sdk.SvcParamVersion: []string{string(r.card.version)}, "User-Agent": []string{"jobgraph"}}
	if key != "" {
		p["Idempotency-Key"] = []string{key}
	}
	return p
}

// quiet keeps the SDK from logging what its errors contain anyway.
func quiet(ctx context.Context) context.Context {
	return sdklog.AttachLogger(ctx, slog.New(slog.DiscardHandler))
}

// Send implements peer.
func (r *remote) Send(ctx context.Context, m *message) iter.Seq2[*update, error] {
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(quiet(ctx), &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	request := &sdk.SendMessageRequest{Tenant: r.card.tenant, Message: &sdk.Message{
		ID: m.ID, TaskID: sdk.TaskID(m.Task), ContextID: m.Context, Role: sdk.MessageRoleUser, Parts: outgoing(m.Parts), Metadata: m.Meta,
	}, Config: &sdk.SendMessageConfig{ReturnImmediately: !m.Live, AcceptedOutputModes: m.Modes, PushConfig: pushConfig(m.Push, "")}}
	told := r.transport.SendStreamingMessage(ctx, r.params(m.ID), request)
	if !m.Live {
		told = once(func() (sdk.Event, error) { return r.transport.SendMessage(ctx, r.params(m.ID), request) })
	}
	return r.tell(told, &written)
}

// Follow implements peer.
func (r *remote) Follow(ctx context.Context, f *following) iter.Seq2[*update, error] {
	ctx = quiet(ctx)
	id := sdk.TaskID(f.task)
	return r.tell(func(yield func(sdk.Event, error) bool) {
		if f.push != nil {
			if _, err := r.transport.CreateTaskPushConfig(ctx, r.params(""), pushConfig(f.push, f.task)); err != nil {
				yield(nil, err)
				return
			}
		}
		if f.live {
			r.transport.SubscribeToTask(ctx, r.params(""), &sdk.SubscribeToTaskRequest{Tenant: r.card.tenant, ID: id})(yield)
			return
		}
		yield(r.transport.GetTask(ctx, r.params(""), &sdk.GetTaskRequest{Tenant: r.card.tenant, ID: id}))
	}, nil)
}

// Cancel implements peer.
func (r *remote) Cancel(ctx context.Context, task string) error {
	told := once(func() (sdk.Event, error) {
		return r.transport.CancelTask(quiet(ctx), r.params(""), &sdk.CancelTaskRequest{Tenant: r.card.tenant, ID: sdk.TaskID(task)})
	})
	for _, err := range r.tell(told, nil) {
		return err
	}
	return nil
}

func once(call func() (sdk.Event, error)) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) { yield(call()) }
}

// tell reads the events of the SDK. Anything that the SDK panics on counts as an unreadable answer. written is nil for
// queries.
func (r *remote) tell(told iter.Seq2[sdk.Event, error], written *atomic.Bool) iter.Seq2[*update, error] {
	return func(yield func(*update, error) bool) {
		goes := true
		defer func() {
			value := recover()
			switch {
			case value == nil:
			case !goes:
				panic(value) // The panic comes from the reader.
			default:
				yield(nil, garbled(fmt.Sprint(value), r.line.evidence()))
			}
		}()
		told(func(e sdk.Event, err error) bool {
			var u *update
			if err == nil {
				u, err = incoming(e)
			}
			if err != nil {
				err = r.explain(err, written)
			}
			goes = false // A panic from here on is the reader's.
			goes = yield(u, err) && err == nil
			return goes
		})
	}
}

// explain classifies an error of the SDK.
func (r *remote) explain(err error, written *atomic.Bool) error {
	var refused *refusal
	var rpc *rpcError
	var told *sdk.Error
	var broken *brokenError
	var outer *url.Error
	if failed := r.line.failure(); failed != nil {
		err = failed
	}
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &rpc):
		return r.denied(rpc.code, rpc.message, rpc.data)
	case errors.Is(err, errBudget):
		return fmt.Errorf("%w of bytes", errBudget)
	case errors.As(err, &broken) && written != nil && !written.Load():
		return fmt.Errorf("%w: %w", errUnsent, broken.err)
	case errors.As(err, &broken):
		return broken
	case errors.As(err, &told):
		return r.denied(codeOf(told.Err), told.Message, fmt.Sprint(told.Details))
	case errors.As(err, &outer):
		return &refusal{Code: events.CodeExecution, Message: "the agent cannot be called", Cause: outer.Err.Error(), Hint: "correct the address on the card"}
	case strings.Contains(err.Error(), "unexpected HTTP status"):
		return &refusal{Code: events.CodeExecution, Message: r.line.host + " leads elsewhere", Cause: err.Error(), Hint: "put the address that it leads to into the agent's card"}
	}
	return garbled(clip(err.Error(), maxEvidence), r.line.evidence())
}

// JSON-RPC codes on which behaviour depends.
const (
	codeTaskNotFound    = -32001
	codeUnauthenticated = -31401
	codeUnauthorized    = -31403
	codeServer          = -32603
)

// forgotten is the advice about a task that the agent no longer has.
const forgotten = "the agent has forgotten the task: run the SubJob again"

func codeOf(err error) int {
	switch {
	case errors.Is(err, sdk.ErrTaskNotFound):
		return codeTaskNotFound
	case errors.Is(err, sdk.ErrUnauthenticated):
		return codeUnauthenticated
	case errors.Is(err, sdk.ErrUnauthorized):
		return codeUnauthorized
	}
	return codeServer
}

// denied returns the refusal for an error of the agent.
func (r *remote) denied(code int, message, data string) *refusal {
	f := &refusal{Code: events.CodeExecution, Message: fmt.Sprintf("the agent answered with error %d: %s", code, clip(message, maxEvidence)), Hint: "see the agent's log"}
	if data != "" && data != "null" && data != "map[]" {
		f.Cause = data
	}
	switch code {
	case codeTaskNotFound:
		f.Code, f.Hint = events.CodeNotFound, forgotten
	case codeUnauthenticated, codeUnauthorized:
		f.Code, f.Hint = events.CodeNotPermitted, "correct the headers on the card"
	}
	return f
}

func pushConfig(n *notify, task string) *sdk.PushConfig {
	if n == nil {
		return nil
	}
	return &sdk.PushConfig{TaskID: sdk.TaskID(task), URL: n.url, Token: n.token}
}

func outgoing(parts []part) sdk.ContentParts {
	var list sdk.ContentParts
	for _, p := range parts {
		var data map[string]any
		if p.Data != nil && json.Unmarshal(p.Data, &data) == nil {
			list = append(list, sdk.NewDataPart(data))
			continue
		}
		if p.Bytes != nil {
			list = append(list, &sdk.Part{Content: sdk.Raw(p.Bytes), Filename: p.Name, MediaType: p.Type})
			continue
		}
		list = append(list, sdk.NewTextPart(p.Text))
	}
	return list
}

// maxID limits the ids of an agent, in bytes, since they are stored and repeated.
const maxID = 1 << 10

// incoming converts an event of the SDK to an update. One that breaks the protocol is a refusal.
func incoming(e sdk.Event) (*update, error) {
	if e == nil {
		return nil, garbled("an event without content", "")
	}
	info := e.TaskInfo()
	if len(info.TaskID) > maxID || len(info.ContextID) > maxID {
		return nil, garbled("an id is longer than it may be", string(info.TaskID))
	}
	u := &update{Task: string(info.TaskID), Context: info.ContextID, Meta: e.Meta()}
	var err error
	switch e := e.(type) {
	case *sdk.Message:
		u.Task, u.State = "", stateAnswered
		u.Said, err = parts(e.Parts)
	case *sdk.Task:
		u.Whole = true
		err = u.status(&e.Status)
		for _, a := range e.Artifacts {
			err = errors.Join(err, u.artifact(a))
		}
		if e.ID == "" {
			err = garbled("a task without an id", "")
		}
	case *sdk.TaskStatusUpdateEvent:
		err = u.status(&e.Status)
	case *sdk.TaskArtifactUpdateEvent:
		u.Append = e.Append
		err = u.artifact(e.Artifact)
	}
	return u, err
}

func (u *update) status(s *sdk.TaskStatus) error {
	u.State = state(strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.State.String(), "TASK_STATE_")), "_", "-"))
	if s.Timestamp != nil {
		u.Mark = s.Timestamp.UTC().Format(time.RFC3339Nano)
	}
	if s.Message == nil {
		return nil
	}
	u.Mark += " " + clip(s.Message.ID, maxName)
	if len(u.Meta) == 0 {
		u.Meta = s.Message.Metadata
	}
	var err error
	u.Said, err = parts(s.Message.Parts)
	return err
}

func (u *update) artifact(a *sdk.Artifact) error {
	if a == nil {
		return garbled("an artifact without content", "")
	}
	list, err := parts(a.Parts)
	u.Artifacts = append(u.Artifacts, artifact{ID: string(a.ID), Name: a.Name, Parts: list})
	return err
}

func parts(list sdk.ContentParts) ([]part, error) {
	var out []part
	for _, p := range list {
		if p == nil {
			return nil, garbled("a part without content", "")
		}
		q := part{Name: p.Filename, Type: p.MediaType}
		switch c := p.Content.(type) {
		case sdk.Text:
			q.Text = string(c)
		case sdk.Raw:
			q.Bytes = c
		case sdk.URL:
			q.URL = string(c)
		case sdk.Data:
			raw, err := json.Marshal(c.Value)
			if err != nil {
				return nil, garbled(err.Error(), "")
			}
			q.Data = raw
		}
		out = append(out, q)
	}
	return out, nil
}
