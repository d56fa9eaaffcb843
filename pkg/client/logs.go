package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Logs reads jobs from their logs: the present state, or the state at any event.
type Logs struct{ client *Client }

// Fold reads a job up to and including the event at a sequence; 0 reads all of its log. With an error it also returns what
// could be folded before it, for the inspection of a broken job. Errors: ErrNotFound, joblog.ErrPoisoned for an event of a
// later version, and those of the bus.
func (l Logs) Fold(ctx context.Context, job string, until uint64) (*joblog.Log, error) {
	return joblog.Fold(l.client.Events(ctx, job, 0), until)
}

// SubJob returns everything known about a SubJob: its text as planned and edited, its result, the lessons of its runs, and
// their calls of models, tools and services. Result.Output is set even if the log refers to a blob, if that is JSON.
// Errors: ErrNotFound for a job or SubJob that does not exist or a deleted result, and those of Fold.
func (l Logs) SubJob(ctx context.Context, job, subjob string) (*joblog.SubJob, error) {
	log, err := l.Fold(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	s := log.SubJob(subjob)
	if s == nil {
		return nil, noSubJob(job, subjob)
	}
	if s.Calls, err = l.client.Journals().CallsOf(ctx, log, subjob); err != nil {
		return nil, err
	}
	if s.Ref != nil && s.Output == nil {
		data, err := l.client.Blob(ctx, job, *s.Ref)
		if err != nil {
			return nil, fmt.Errorf("result of SubJob %s: %w", subjob, err)
		}
		if json.Valid(data) {
			s.Output = data
		}
	}
	return s, nil
}

// Brief returns what the last run of a SubJob knew about its job, whole, or what a first run would know now: see
// joblog.Log.Brief. It works for ended jobs, too. Errors: ErrNotFound for a job or SubJob that does not exist, and those of Fold.
func (l Logs) Brief(ctx context.Context, job, subjob string) (*brief.Brief, error) {
	log, err := l.Fold(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	b, err := log.Brief(subjob)
	if err == nil && b == nil {
		err = noSubJob(job, subjob)
	}
	return b, err
}

func noSubJob(job, subjob string) error {
	return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
		Code: events.CodeNotFound, Field: "subjob", Message: fmt.Sprintf("job %s has no SubJob %.80q", job, subjob), Hint: "jobgraph get " + job,
	})
}

// Tell publishes a control event of a job and folds its log up to that event, so that log includes it. Errors: ErrConflict
// with the reason if the event is not legal in the job's state and so changes nothing, and those of Client.Tell and Fold.
func (l Logs) Tell(ctx context.Context, log *joblog.Log, kind events.Kind, data any) error {
	seq, err := l.client.Tell(ctx, log.Job.ID, kind, data)
	if err != nil {
		return err
	}
	for e, err := range l.client.Events(ctx, log.Job.ID, log.Last()) {
		if err == nil {
			err = log.Step(e)
		}
		if err != nil {
			return err
		}
		if e.Seq < seq {
			continue
		}
		reason, ignored := log.Ignored()
		if !ignored {
			return nil
		}
		return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
			Code: events.CodeConflict, Message: fmt.Sprintf("%s was not possible", e.Kind), Cause: reason,
			Hint: "jobgraph get " + log.Job.ID + " shows where the job stands",
		})
	}
	return fmt.Errorf("%w: event %d is not in the log", bus.ErrUnknown, seq)
}

// Fork starts a new job from the end of log: its graph with the results of finished SubJobs, so that only the rest runs. f says what
// the new job does differently; a missing id is generated. Payloads are copied. The returned job is as submitted: it may still wait in
// the queue. Its labels forked_from and forked_at say where it comes from, if it may have more labels. Errors: *events.Fault if f does
// not fit the job, ErrNotFound for an unknown SubJob or a deleted payload, and those of Submit.
func (l Logs) Fork(ctx context.Context, log *joblog.Log, f joblog.Fork) (*joblog.Forked, error) {
	if f.ID == "" {
		own, err := NewOwnID()
		if err != nil {
			return nil, err
		}
		ctx, f.ID = own.With(ctx), own.id
	}
	get := l.payloads(ctx, log.Job.ID)
	forked, err := log.Fork(f, get)
	var fault *events.Fault
	if errors.As(err, &fault) && fault.Code == events.CodeNotFound {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("fork %s: %w", log.Job.ID, err)
	}
	for _, ref := range forked.Payloads {
		data, err := get(ref)
		if err == nil {
			_, err = l.client.bus.Blobs().Put(ctx, f.ID, data)
		}
		if err != nil {
			return nil, fmt.Errorf("fork %s: %w", log.Job.ID, err)
		}
	}
	if _, err := l.client.Submit(ctx, forked.Request); err != nil {
		return nil, err
	}
	return forked, nil
}

// payloads returns a reader of a job's payloads.
func (l Logs) payloads(ctx context.Context, job string) joblog.Payloads {
	return func(ref events.Ref) ([]byte, error) { return l.client.bus.Blobs().Get(ctx, job, ref.Digest) }
}

// kept is like payloads, but skips deleted ones.
func (l Logs) kept(ctx context.Context, job string) joblog.Payloads {
	return func(ref events.Ref) ([]byte, error) {
		data, err := l.client.bus.Blobs().Get(ctx, job, ref.Digest)
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return data, err
	}
}
