package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// DeadJob is the kind of a job in quarantine; requests and work have the kinds of package bus.
const DeadJob = "job"

// Dead is something that could not be handled: a job in quarantine, a rejected request, or a work message without a run.
type Dead struct {
	// ID identifies it for DeadLetters.Retry: a job's id, or "request:7", "work:7:POOL", "webhook:7:TARGET".
	ID string `json:"id"`
	// Kind is DeadJob, bus.DeadRequest, bus.DeadWork, bus.DeadFact or bus.DeadWebhook.
	Kind string `json:"kind"`
	// Since is when it was dead-lettered or quarantined.
	Since time.Time `json:"since"`
	// Fault says why it could not be handled.
	Fault events.Fault `json:"fault"`
	// Faults lists the faults of a request one by one; the message of Fault contains them as one text.
	Faults events.Faults `json:"faults,omitempty"`
	// Subject is where the message was published; empty for a job.
	Subject string `json:"subject,omitempty"`
	// Body is the message as received: JSON unchanged, anything else as a string.
	Body json.RawMessage `json:"body,omitempty"`
}

// DeadLetters reads what no service could handle, and retries it.
type DeadLetters struct{ client *Client }

// List lists all dead letters and quarantined jobs, oldest first.
func (l DeadLetters) List(ctx context.Context) ([]Dead, error) {
	jobs, err := l.client.List(ctx, Query{})
	if err != nil {
		return nil, err
	}
	list := []Dead{}
	for _, j := range jobs {
		if j.Quarantined != nil {
			list = append(list, deadJob(j))
		}
	}
	asides, err := l.client.bus.DeadLetters().List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range asides {
		list = append(list, deadMessage(&asides[i]))
	}
	slices.SortStableFunc(list, func(a, b Dead) int { return a.Since.Compare(b.Since) })
	return list, nil
}

// Get returns a dead letter or quarantined job by its id. Errors: ErrNotFound, ErrConflict for a job that is not in
// quarantine, those of the bus.
func (l DeadLetters) Get(ctx context.Context, id string) (Dead, error) {
	if strings.Contains(id, ":") {
		a, err := l.client.bus.DeadLetters().Get(ctx, id)
		if errors.Is(err, bus.ErrNotFound) {
			return Dead{}, fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
				Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("nothing is set aside as %.80q", id), Hint: "jobgraph dlq ls",
			})
		}
		return deadMessage(&a), err
	}
	j, err := l.client.Get(ctx, id)
	if errors.Is(err, ErrNotFound) { // Not saved yet, or it does not exist: read the log.
		j = &Job{}
		_, err = l.client.Head(ctx, id)
	}
	if err != nil {
		return Dead{}, err
	}
	if j.Quarantined == nil {
		return Dead{}, fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
			Code: events.CodeConflict, Field: "id", Message: "job " + id + " is not in quarantine", Hint: "jobgraph get " + id,
		})
	}
	return deadJob(j), nil
}

// Retry asks a scheduler to try a dead letter again, and returns the id of its job, if there is one. A quarantined job is handled
// by the scheduler again, which quarantines it again unless the cause was repaired. A request is admitted again for its sender, and
// stays a dead letter if it still has faults. A work message is published again on its subject, and so is a notice to a webhook,
// which a gateway then sends. Errors: ErrNotFound, ErrConflict for what cannot be tried again, events.Faults of a request, those of
// the bus.
func (l DeadLetters) Retry(ctx context.Context, d Dead) (job string, err error) {
	request, err := json.Marshal(verb.LetterRetry{ID: d.ID})
	if err != nil {
		return "", err
	}
	answer, fault, err := l.client.bus.Services().Request(ctx, l.client.Names().API("dlq.retry"), request)
	if fault != nil {
		err = refusal(answer, fault)
	}
	var out verb.Retried
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	if err != nil {
		return "", fmt.Errorf("retry %s: %w", d.ID, err)
	}
	return out.JobID, nil
}

func deadJob(j *Job) Dead {
	return Dead{ID: j.ID, Kind: DeadJob, Since: j.Saved, Fault: *j.Quarantined}
}

func deadMessage(a *bus.DeadLetter) Dead {
	d := Dead{ID: a.ID(), Kind: a.Kind, Since: a.Time, Subject: a.Message.Subject, Body: a.Message.Body, Faults: a.Faults}
	d.Fault = events.Fault{Code: events.CodeRejected, Message: a.Reason, Hint: "send it again without its faults"}
	switch a.Kind {
	case bus.DeadFact:
		d.Fault.Code, d.Fault.Hint = events.CodeNotPermitted, "find out whose key wrote it; the job goes on as if it were not there"
	case bus.DeadWork:
		d.Fault.Code, d.Fault.Hint = events.CodeMalformed, "find out who published it; no client waits for it"
	case bus.DeadWebhook:
		d.Fault.Code, d.Fault.Hint = events.CodeUnavailable, "`jobgraph dlq retry "+d.ID+"` sends it again once "+a.Target+" is well"
	}
	if !json.Valid(d.Body) {
		d.Body = nil
		if len(a.Message.Body) > 0 {
			d.Body, _ = json.Marshal(string(a.Message.Body)) // A string can always be encoded.
		}
	}
	return d
}
