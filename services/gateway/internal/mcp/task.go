package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// tasksExtension is the extension that answers a call with the handle of a task (SEP-2663). A task of this server is the wait for a
// job: its id is the job's, and its state is in the log, so that every gateway knows every task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// pollEvery is how often a client should ask about a task, in milliseconds.
const pollEvery = 1000

// The states of a task.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// task is a task in the form of the extension. A new one has neither result nor inputRequests.
type task struct {
	sdk.ResultBase
	ResultType    string              `json:"resultType"`
	ID            string              `json:"taskId"`
	Status        string              `json:"status"`
	Message       string              `json:"statusMessage,omitempty"`
	Created       time.Time           `json:"createdAt"`
	Updated       time.Time           `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // Null: a task lasts as long as its job.
	Poll          int                 `json:"pollIntervalMs"`
	InputRequests sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *sdk.CallToolResult `json:"result,omitempty"`
}

// taskParams names a task; InputResponses are those of tasks/update.
type taskParams struct {
	sdk.ParamsBase
	ID             string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// done is the result of a request that returns nothing else.
type done struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// addTasks offers the methods of the extension.
func (s *Server) addTasks() {
	for method, answer := range map[string]func(context.Context, *taskParams) (sdk.Result, error){
		"tasks/get": s.getTask, "tasks/update": s.updateTask, "tasks/cancel": s.cancelTask,
	} {
		err := sdk.AddReceivingCustomMethod(s.sdk, method, func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (sdk.Result, error) {
			if p == nil || p.ID == "" {
				return nil, s.protocol(&events.Fault{Code: events.CodeMissing, Field: "taskId", Message: "no task is named", Hint: "give the taskId that a call has returned"})
			}
			return answer(ctx, p)
		})
		if err != nil {
			panic("mcp: " + err.Error()) // The SDK refuses only methods of the protocol itself.
		}
	}
}

// requestKey stores a request in its context for the methods of the extension.
type requestKey struct{}

// tasks turns a wait into a task if the client supports the extension, and refuses the extension's methods to others.
func (s *Server) tasks(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		_, declared := capabilities(r).Extensions[tasksExtension]
		switch method {
		case "tasks/get", "tasks/update", "tasks/cancel":
			if !declared {
				return nil, missingExtension()
			}
			return next(context.WithValue(ctx, requestKey{}, r), method, r)
		case "tools/call":
			call, ok := r.(*sdk.CallToolRequest)
			if ok && declared && call.Params.Name == waitTool && len(call.Params.InputResponses) == 0 {
				return s.newTask(ctx, call, next)
			}
		}
		return next(ctx, method, r)
	}
}

// missingExtension refuses a client that does not declare the extension.
func missingExtension() error {
	data, _ := json.Marshal(object{"requiredCapabilities": object{"extensions": object{tasksExtension: object{}}}}) // Strings can always be encoded.
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "tasks need the extension " + tasksExtension + " in the capabilities of each request", Data: data}
}

// newTask answers a wait with a task, unless the job has ended.
func (s *Server) newTask(ctx context.Context, call *sdk.CallToolRequest, next sdk.MethodHandler) (sdk.Result, error) {
	in, err := waitingOf(call)
	if err != nil {
		return s.failed(err), nil
	}
	t, err := s.taskOf(ctx, call, in.ID)
	if err != nil {
		return s.failed(err), nil
	}
	if t.Status == taskCompleted || t.Status == taskCancelled {
		return next(ctx, "tools/call", call)
	}
	t.ResultType, t.InputRequests = "task", nil
	return t, nil
}

// taskOf returns a task in the state of the job that it waits for.
func (s *Server) taskOf(ctx context.Context, r sdk.Request, job string) (*task, error) {
	out, err := s.Door.Standing(ctx, who(ctx), job)
	if err != nil {
		return nil, err
	}
	t := &task{
		ResultType: "complete", ID: job, Status: taskWorking, Created: out.Created, Updated: out.Changed, Poll: pollEvery,
		Message: fmt.Sprintf("%s, %d of %d SubJobs are done", out.Status, out.Done, out.Total),
	}
	asks := s.asks(ctx, r, out)
	switch {
	case out.Ended && out.Status == events.Stopped:
		t.Status = taskCancelled
	case out.Ended:
		t.Status = taskCompleted
		t.Result, err = waited(out)
	case len(asks) > 0:
		t.Status, t.InputRequests = taskInput, asks
	case len(out.Inputs) > 0:
		t.Message = advice(out.Inputs)
	}
	return t, err
}

// getTask answers tasks/get.
func (s *Server) getTask(ctx context.Context, p *taskParams) (sdk.Result, error) {
	r, _ := ctx.Value(requestKey{}).(sdk.Request)
	t, err := s.taskOf(ctx, r, p.ID)
	if err != nil {
		return nil, s.protocol(err)
	}
	return t, nil
}

// updateTask answers tasks/update, which carries a person's answers to the questions of the job.
func (s *Server) updateTask(ctx context.Context, p *taskParams) (sdk.Result, error) {
	if _, _, err := s.deliver(ctx, p.ID, p.InputResponses); err != nil {
		return nil, s.protocol(err)
	}
	return &done{ResultType: "complete"}, nil
}

// cancelTask answers tasks/cancel: it stops the job, if the user may do that.
func (s *Server) cancelTask(ctx context.Context, p *taskParams) (sdk.Result, error) {
	now := false
	in := verb.Ending{Ref: verb.Ref{ID: p.ID}, StopRequested: events.StopRequested{Reason: "the task was cancelled"}, Wait: &now}
	_, err := s.Door.Do(ctx, who(ctx), "stop", in)
	if err != nil && s.Door.Fault(err).Code != events.CodeConflict { // A job that has ended is no longer cancelled.
		return nil, s.protocol(err)
	}
	return &done{ResultType: "complete"}, nil
}
