package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// waitingOf reads the arguments of wait.
func waitingOf(r *sdk.CallToolRequest) (*verb.Waiting, error) {
	var in verb.Waiting
	d := json.NewDecoder(bytes.NewReader(arguments(r)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return nil, &events.Fault{Code: events.CodeMalformed, Message: "the arguments cannot be read", Cause: err.Error(), Hint: `give {"id":"JOB"} and, if you like, "timeout":"50s"`}
	}
	return &in, nil
}

// wait waits for a job, reports its progress, and puts its questions to the person if the client can. Otherwise, or if the person
// does not answer, the result contains the questions.
func (s *Server) wait(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, leave := attended(ctx, r)
	defer leave()
	in, err := waitingOf(r)
	if err != nil {
		return s.failed(err), nil
	}
	answered, open, err := s.deliver(ctx, in.ID, r.Params.InputResponses)
	if err != nil {
		return s.failed(err), nil
	}
	tell := teller(ctx, r)
	for {
		out, err := s.Door.Await(ctx, who(ctx), in, answered, tell)
		if err != nil {
			return s.failed(err), nil
		}
		asks := s.asks(ctx, r, out)
		switch {
		case len(asks) == 0 || open:
			return waited(out)
		case modern(r):
			return &sdk.CallToolResult{InputRequests: asks}, nil
		}
		var responses sdk.InputResponseMap
		err = s.Door.Hold(ctx, who(ctx), func(ctx context.Context) (err error) {
			responses, err = elicit(ctx, r.Session, asks)
			return err
		})
		if err != nil {
			return s.failed(err), nil
		}
		more, stillOpen, err := s.deliver(ctx, in.ID, responses)
		if err != nil {
			return s.failed(err), nil
		}
		answered, open = append(answered, more...), stillOpen
	}
}

// attended returns a context that also ends with the HTTP request of a call: nothing more can be said to a client that has left, or whose
// token was removed. In a session the SDK ends only calls of the newest revision. The caller must call leave.
func attended(ctx context.Context, r sdk.Request) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	extra := r.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return ctx, cancel
	}
	asked, ok := extra.TokenInfo.Extra[requestField].(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(asked, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// waited returns the result of a wait.
func waited(out *verb.Waited) (*sdk.CallToolResult, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	result := structured(text)
	if len(out.Inputs) > 0 {
		result.Content = append(result.Content, &sdk.TextContent{Text: advice(out.Inputs)})
	}
	return result, nil
}

// advice says how to answer questions.
func advice(list []verb.Question) string {
	text := "The job waits for a person. Ask the user, then call answer with what the user says:"
	for i := range list {
		q := &list[i]
		shape := `"TEXT"`
		switch {
		case q.Kind == events.InputApproval:
			shape = `{"approved":true|false,"reason":"…"}`
		case q.Kind == events.InputReview:
			shape = fmt.Sprintf(`{"action":one of %q,"text":"…"}, or a plan of the user's own`, q.Options)
		case len(q.Schema) > 0:
			shape = "JSON that fits " + string(q.Schema)
		case len(q.Options) > 0:
			shape = fmt.Sprintf("one of %q", q.Options)
		}
		text += fmt.Sprintf("\n- {\"id\":%q,\"request\":%q,\"answer\":…}, where the answer is %s: %s", q.JobID, q.Request, shape, q.Prompt)
	}
	return text
}

// teller returns a function that reports a job's progress to a client; nil if the client does not want it.
func teller(ctx context.Context, r *sdk.CallToolRequest) func(*verb.Waited) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	begin, last := time.Now(), -1.0
	return func(w *verb.Waited) {
		// The protocol requires a larger value each time, even for a mere sign of life: the completed steps plus a part that grows
		// with time.
		spent := time.Since(begin).Seconds()
		value := float64(w.Done) + spent/(spent+60)
		if value <= last {
			return
		}
		last = value
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // The client may be gone; the wait will notice.
			ProgressToken: token, Progress: value, Total: float64(max(w.Total, w.Done+1)), Message: fmt.Sprintf("%s, %d of %d SubJobs are done", w.Status, w.Done, w.Total),
		})
	}
}

// elicit asks the person at a client that speaks a revision before 2026-07-28 one question after the other, until the person leaves
// one open.
func elicit(ctx context.Context, session *sdk.ServerSession, asks sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	given := sdk.InputResponseMap{}
	for request, ask := range asks { // any order: the requests are independent.
		form, ok := ask.(*sdk.ElicitParams)
		if !ok {
			continue
		}
		result, err := session.Elicit(ctx, form)
		if err != nil && ctx.Err() == nil {
			return given, &events.Fault{
				Code: events.CodeInvalid, Field: request, Message: "the client did not answer the question as it was asked", Cause: err.Error(),
				Hint: "the question is still open: wait again, or send the answer with the tool answer",
			}
		}
		if err != nil {
			return given, err
		}
		given[request] = result
	}
	return given, nil
}
