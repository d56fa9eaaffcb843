package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// verbOf are the verbs that make a scheduler state control events for clients that may not write into the log.
var verbOf = map[events.Kind]string{
	events.KindStopRequested: "stop", events.KindFailRequested: "fail", events.KindRecoverRequested: "recover", events.KindRetryRequested: "retry",
	events.KindRerunRequested: "rerun", events.KindPlanEdited: "edit",
}

// tellByVerb asks a scheduler to state a control event, and returns its sequence. Errors: ErrNotPermitted, ErrConflict if the event
// is not legal in the state of the job, and those of ask.
func (l Logs) tellByVerb(ctx context.Context, job string, kind events.Kind, data any) (uint64, error) {
	name := verbOf[kind]
	if name == "" {
		return 0, fmt.Errorf("%w: no verb states %s", bus.ErrNotPermitted, kind)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	request := map[string]any{}
	if err := json.Unmarshal(text, &request); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	request["id"] = job
	if kind == events.KindStopRequested || kind == events.KindFailRequested {
		request["wait"] = false
	}
	var told verb.Told
	err = l.client.ask(ctx, name, request, &told)
	return told.Seq, err
}

// answerByVerb asks a scheduler to close a request for input.
func (l Logs) answerByVerb(ctx context.Context, job, request string, closed *events.InputClosed) error {
	return l.client.ask(ctx, "answer", verb.Answer{Ref: verb.Ref{ID: job}, Request: request, Answer: closed.Answer, By: closed.By, Action: closed.Action}, nil)
}
