package legacy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	wire "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/google/uuid"
)

// Methods of spec 0.3.
const (
	methodSend        = "message/send"
	methodStream      = "message/stream"
	methodGet         = "tasks/get"
	methodCancel      = "tasks/cancel"
	methodResubscribe = "tasks/resubscribe"
	methodSetPush     = "tasks/pushNotificationConfig/set"
)

// maxLine bounds one line of a stream, in bytes.
const maxLine = 10 << 20

// Transport calls one agent. Its calls may run concurrently. An error from the agent is an [a2a.Error] whose cause is the error of
// spec 1.0 with the same code, or [a2a.ErrInternalError]. All other errors come from the HTTP client or from an unreadable answer.
type Transport struct {
	url    string
	client *http.Client
}

// NewTransport returns a transport to the agent at url, through client.
func NewTransport(url string, client *http.Client) *Transport {
	return &Transport{url: url, client: client}
}

// SendMessage sends a message and returns the agent's answer, a task or a message.
func (t *Transport) SendMessage(ctx context.Context, params a2aclient.ServiceParams, r *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	result, err := t.call(ctx, methodSend, params, sendParams(r))
	if err != nil {
		return nil, err
	}
	event, err := readEvent(result)
	if err != nil {
		return nil, err
	}
	answer, ok := event.(a2a.SendMessageResult)
	if !ok {
		return nil, fmt.Errorf("a message is answered with a task or a message, not with %T: %s", event, result)
	}
	return answer, nil
}

// SendStreamingMessage sends a message and yields the events of its task until the agent ends the stream, or one error.
func (t *Transport) SendStreamingMessage(ctx context.Context, params a2aclient.ServiceParams, r *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return t.stream(ctx, methodStream, params, sendParams(r))
}

// SubscribeToTask yields the further events of a task until the agent ends the stream, or one error.
func (t *Transport) SubscribeToTask(ctx context.Context, params a2aclient.ServiceParams, r *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return t.stream(ctx, methodResubscribe, params, &wire.TaskIDParams{ID: wire.TaskID(r.ID)})
}

// GetTask returns a task as it stands.
func (t *Transport) GetTask(ctx context.Context, params a2aclient.ServiceParams, r *a2a.GetTaskRequest) (*a2a.Task, error) {
	return t.task(ctx, methodGet, params, &wire.TaskQueryParams{ID: wire.TaskID(r.ID), HistoryLength: r.HistoryLength})
}

// CancelTask asks the agent to end a task and returns the task as it stands afterwards.
func (t *Transport) CancelTask(ctx context.Context, params a2aclient.ServiceParams, r *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return t.task(ctx, methodCancel, params, &wire.TaskIDParams{ID: wire.TaskID(r.ID), Metadata: r.Metadata})
}

// CreateTaskPushConfig tells the agent where to send the events of a task. It returns the configuration that the agent has stored.
func (t *Transport) CreateTaskPushConfig(ctx context.Context, params a2aclient.ServiceParams, c *a2a.PushConfig) (*a2a.PushConfig, error) {
	result, err := t.call(ctx, methodSetPush, params, &wire.TaskPushConfig{TaskID: wire.TaskID(c.TaskID), Config: *fromPush(c)})
	if err != nil {
		return nil, err
	}
	var kept wire.TaskPushConfig
	if err := json.Unmarshal(result, &kept); err != nil {
		return nil, fmt.Errorf("read push configuration: %w", err)
	}
	return toPush(&kept), nil
}

func (t *Transport) task(ctx context.Context, method string, params a2aclient.ServiceParams, body any) (*a2a.Task, error) {
	result, err := t.call(ctx, method, params, body)
	if err != nil {
		return nil, err
	}
	var task wire.Task
	if err := json.Unmarshal(result, &task); err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	return toTask(&task), nil
}

// call makes a call with one answer and returns its result.
func (t *Transport) call(ctx context.Context, method string, params a2aclient.ServiceParams, body any) (json.RawMessage, error) {
	answer, err := t.post(ctx, method, params, body, "")
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	var r response
	if err := json.NewDecoder(answer).Decode(&r); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return r.unwrap()
}

// stream makes a call whose answers are server-sent events, one on each data line.
func (t *Transport) stream(ctx context.Context, method string, params a2aclient.ServiceParams, body any) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		answer, err := t.post(ctx, method, params, body, "text/event-stream")
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		lines := bufio.NewScanner(answer)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
			if !ok {
				continue // A comment, an id, or the empty line after an event.
			}
			event, err := eventOf(bytes.TrimPrefix(data, []byte(" ")))
			if !yield(event, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("read stream: %w", err))
		}
	}
}

func eventOf(data []byte) (a2a.Event, error) {
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	result, err := r.unwrap()
	if err != nil {
		return nil, err
	}
	return readEvent(result)
}

// post sends a request and returns the body of a successful answer. The caller closes it.
func (t *Transport) post(ctx context.Context, method string, params a2aclient.ServiceParams, body any, accept string) (io.ReadCloser, error) {
	raw, err := json.Marshal(request{Version: "2.0", Method: method, Params: body, ID: uuid.NewString()})
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	for key, values := range params {
		if strings.EqualFold(key, a2a.SvcParamExtensions) {
			key = "X-" + a2a.SvcParamExtensions // Its name in spec 0.3.
		}
		for _, value := range values {
			r.Header.Add(key, value)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	answer, err := t.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close() // The status says what is wrong.
		return nil, fmt.Errorf("unexpected HTTP status: %s", answer.Status)
	}
	return answer.Body, nil
}
