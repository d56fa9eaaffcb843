package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Tell publishes a control event of a job and returns its sequence. Whether the event is legal is decided when the log is
// folded; an illegal one is ignored there. Errors: ErrNotFound for a job that does not exist, and those of the bus.
func (c *Client) Tell(ctx context.Context, job string, kind events.Kind, data any) (uint64, error) {
	if err := checkID(job); err != nil {
		return 0, err
	}
	there, err := c.Logs().exists(ctx, job)
	if err != nil {
		return 0, err
	}
	if !there {
		return 0, c.absent(ctx, job)
	}
	id, err := NewID()
	if err != nil {
		return 0, err
	}
	m, err := events.Encode(c.Names(), events.Event{Kind: kind, ID: id, Job: job, Source: source, Data: data})
	if err != nil {
		return 0, err
	}
	m.Header[events.HeaderMsgID] = []string{id} // After an unknown outcome it may be published again.
	seq, err := c.bus.Publish(ctx, m, bus.Expect{})
	if errors.Is(err, bus.ErrUnknown) && ctx.Err() == nil {
		seq, err = c.bus.Publish(ctx, m, bus.Expect{})
	}
	if errors.Is(err, bus.ErrNotPermitted) {
		return c.Logs().tellByVerb(ctx, job, kind, data)
	}
	return seq, err
}

// Stop asks a job, or one of its SubJobs, to stop. It waits until the job has ended or, with Only, until the request is
// stored. If the job is in quarantine, its work is ended and the error is ErrQuarantined; the request takes effect when the
// scheduler handles the job again. Errors: ErrConflict if the job or SubJob has ended, the SubJob is at another run, or the
// job FINISHED in the meantime; ErrNotFound; the context's.
func (c *Client) Stop(ctx context.Context, job string, s events.StopRequested) error {
	return c.end(ctx, job, events.KindStopRequested, &s, &s)
}

// Fail declares a job, or one of its SubJobs, failed. It waits as Stop does.
func (c *Client) Fail(ctx context.Context, job string, f events.FailRequested) error {
	return c.end(ctx, job, events.KindFailRequested, &f, (*events.StopRequested)(&f))
}

func (c *Client) end(ctx context.Context, job string, kind events.Kind, data any, asked *events.StopRequested) error {
	if err := checkID(job); err != nil {
		return err
	}
	saved, err := c.Get(ctx, job)
	if errors.Is(err, ErrNotFound) { // Not saved yet, or it does not exist: read the log.
		saved, err = &Job{}, nil
	}
	if err != nil {
		return err
	}
	if err := c.going(ctx, job, saved, math.MaxUint64); err != nil {
		return err
	}
	if err := c.aimed(ctx, job, saved, asked); err != nil {
		return err
	}
	seq, err := c.Tell(ctx, job, kind, data)
	if errors.Is(err, ErrNotAdmitted) {
		return c.endWaiting(ctx, job, kind, asked)
	}
	if err != nil {
		return err
	}
	if saved.Quarantined != nil {
		return c.Quarantine().endDead(ctx, saved, seq, asked)
	}
	// After an end the fold ignores the request, and no other end follows.
	if err := c.going(ctx, job, saved, seq); err != nil || asked.Only {
		return err
	}
	if _, err = c.endBehind(ctx, job, seq); err != nil || asked.SubJob == "" {
		return err
	}
	return c.heeded(ctx, job, seq)
}

// endWaiting ends a job whose request is still queued: once a scheduler admits it, the job ends at once, so that the log
// contains both.
func (c *Client) endWaiting(ctx context.Context, job string, kind events.Kind, asked *events.StopRequested) error {
	if asked.SubJob != "" {
		return c.absent(ctx, job)
	}
	verb := "stop"
	if kind == events.KindFailRequested {
		verb = "fail"
	}
	err := c.ask(ctx, verb, map[string]any{"id": job, "reason": asked.Reason, "wait": false}, nil)
	if err != nil {
		return err
	}
	_, err = c.endBehind(ctx, job, 0)
	return err
}

// aimed rejects a request about a SubJob that the fold would ignore. It relies on an up-to-date saved state only;
// otherwise, and for a state in several keys, the fold decides.
func (c *Client) aimed(ctx context.Context, job string, saved *Job, asked *events.StopRequested) error {
	if asked.SubJob == "" || len(saved.SubJobs) == 0 || saved.Quarantined != nil {
		return nil
	}
	for e, err := range c.bus.Log().EventsOf(ctx, job, saved.Seq) {
		if err != nil {
			return err
		}
		if e.Kind != events.KindJobAdvanced { // That event reports a save and changes nothing.
			return nil
		}
	}
	at := slices.IndexFunc(saved.SubJobs, func(s SubJob) bool { return s.ID == asked.SubJob })
	if at < 0 {
		return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
			Code: events.CodeNotFound, Field: "subjob", Message: fmt.Sprintf("job %s has no SubJob %.80q", job, asked.SubJob), Hint: "jobgraph get " + job,
		})
	}
	s := &saved.SubJobs[at]
	switch {
	case s.Status.Terminal() || s.Status == events.Legacy:
		return stale(job, fmt.Sprintf("%s is %s", s.ID, s.Status))
	case asked.Run != 0 && asked.Run != s.Run:
		return stale(job, fmt.Sprintf("%s is at run %d, not %d", s.ID, s.Run, asked.Run))
	}
	return nil
}

// heeded returns ErrConflict if a job FINISHED after a request to end it by one SubJob, which means that the fold ignored
// the request.
func (c *Client) heeded(ctx context.Context, job string, seq uint64) error {
	for e, err := range c.bus.Log().EventsOf(ctx, job, seq) {
		if err != nil {
			return err
		}
		if end, ok := Ended(e); !ok {
			continue
		} else if end.Status == events.Finished {
			return stale(job, "the request ended nothing, and job "+job+" is FINISHED")
		}
		break // A later end comes after a recovery.
	}
	return nil
}

func stale(job, what string) error {
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "subjob", Message: what, Hint: "jobgraph get " + job + " shows where the job stands",
	})
}

// going returns ErrConflict if a job had ended before an event of its log, according to the saved state and the log after
// it. A request to continue that the saved state does not cover counts as granted.
func (c *Client) going(ctx context.Context, job string, saved *Job, before uint64) error {
	status := saved.Status
	for e, err := range c.bus.Log().EventsOf(ctx, job, saved.Seq) {
		if err != nil {
			return err
		}
		if e.Seq >= before {
			break
		}
		if end, ok := Ended(e); ok {
			status = end.Status
		} else if revives(e.Kind) {
			status = ""
		}
	}
	if status.Terminal() {
		return conflict(job, string(status))
	}
	return nil
}

// revives reports whether an event of a kind can make an ended job continue.
func revives(k events.Kind) bool {
	switch k {
	case events.KindRecoverRequested, events.KindRetryRequested, events.KindRerunRequested, events.KindPlanEdited, events.KindJobRecovered:
		return true
	}
	return false
}

func conflict(job, status string) error {
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "job", Message: fmt.Sprintf("job %s is %s", job, status),
	})
}

// Recover asks a STOPPED or FAILED job to continue; finished work is kept. It returns when the request is stored.
func (c *Client) Recover(ctx context.Context, job string, r events.RecoverRequested) error {
	_, err := c.Tell(ctx, job, events.KindRecoverRequested, &r)
	return err
}

// Retry asks for another run of a FAILED or STOPPED SubJob.
func (c *Client) Retry(ctx context.Context, job string, r events.RetryRequested) error {
	_, err := c.Tell(ctx, job, events.KindRetryRequested, &r)
	return err
}

// Rerun reruns a SubJob, with the fields in r.Edit replaced, and everything that depends on it; an ended job continues. Run
// 0 is the SubJob's present run. It returns when the log shows that the request was granted. Errors: ErrNotFound for a job
// or SubJob that does not exist; ErrConflict with the reason if the job's state does not allow it or the SubJob is at
// another run; and those of Logs.Fold and the bus.
func (c *Client) Rerun(ctx context.Context, job string, r events.RerunRequested) error {
	log, err := c.Logs().Fold(ctx, job, 0)
	if err != nil {
		return err
	}
	n := log.Node(r.SubJob)
	if n == nil {
		return noSubJob(job, r.SubJob)
	}
	if r.Run == 0 {
		r.Run = n.Run
	}
	return c.Logs().Tell(ctx, log, events.KindRerunRequested, &r)
}

// Answer closes a request for input. The bus accepts one answer: repeating it is not an error, a different one is
// ErrConflict. An answer that does not fit the schema of the request closes it, too, and the expert asks again under another
// id. An answer that does not fit into a message is bus.ErrTooLarge with a fault that gives the limit, and the
// request stays open. The API and the command line check whether the person in by may answer; this function and the fold
// do not.
func (c *Client) Answer(ctx context.Context, job, request string, answer any, by string) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("answer %s: %w", request, err)
	}
	return c.closeInput(ctx, job, request, &events.InputClosed{Action: events.Answered, Answer: text, By: by})
}

// CancelInput closes a request for input without an answer.
func (c *Client) CancelInput(ctx context.Context, job, request, by string) error {
	return c.closeInput(ctx, job, request, &events.InputClosed{Action: events.Cancelled, By: by})
}

func (c *Client) closeInput(ctx context.Context, job, request string, closed *events.InputClosed) error {
	if err := checkID(job); err != nil {
		return err
	}
	if !events.ValidToken(request) {
		return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{Code: events.CodeNotFound, Field: "request", Message: fmt.Sprintf("%.80q is no request", request), Hint: "jobgraph inputs " + job})
	}
	id := run.FactID(job, events.KindInputClosed, request)
	m, err := events.Encode(c.Names(), events.Event{Kind: events.KindInputClosed, ID: id, Job: job, Key: request, Source: source, Data: closed})
	if err != nil {
		return err
	}
	if len(m.Body) > bus.MaxMessage {
		return fmt.Errorf("%w: %w", bus.ErrTooLarge, &events.Fault{
			Code: events.CodeTooLarge, Field: "answer", Message: fmt.Sprintf("the answer is too large: %d bytes, at most %d are taken", len(m.Body), bus.MaxMessage),
			Hint: "answer with less, or with the place where it can be read; request " + request + " is still open",
		})
	}
	_, err = c.bus.Publish(ctx, m, bus.ExpectNone())
	if errors.Is(err, bus.ErrNotPermitted) {
		return c.Logs().answerByVerb(ctx, job, request, closed)
	}
	if !errors.Is(err, bus.ErrConflict) {
		return err
	}
	if same, err := c.closedSo(ctx, m.Subject, closed); err != nil || same {
		return err
	}
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "request", Message: "request " + request + " is closed already, in another way", Hint: "jobgraph events " + job + " shows how and by whom",
	})
}

// closedSo reports whether a request was closed before in exactly this way.
func (c *Client) closedSo(ctx context.Context, subject string, closed *events.InputClosed) (bool, error) {
	last, err := c.bus.Streams().LastOn(ctx, c.Names().Log, subject)
	if err != nil {
		return false, err
	}
	e, err := c.bus.Log().EventAt(ctx, last.Seq)
	if err != nil {
		return false, err
	}
	was, ok := e.Data.(*events.InputClosed)
	return ok && was.Action == closed.Action && was.By == closed.By && bytes.Equal(was.Answer, closed.Answer), nil
}

// deleteRest removes what an interrupted operation may have left: the state, if a deletion was interrupted after it had
// removed the log; journals, if an import was interrupted before it wrote the log; payloads, also those of a request that was
// never sent, or was refused.
func (c *Client) deleteRest(ctx context.Context, job string) error {
	_, absent := c.Get(ctx, job)
	switch {
	case absent == nil:
		if err := c.bus.Retention().PurgeRest(ctx, job); err != nil {
			return err
		}
	case !errors.Is(absent, ErrNotFound):
		return absent
	}
	err := c.bus.Retention().PurgeUnbegun(ctx, job)
	if errors.Is(err, ErrNotFound) {
		return absent
	}
	return err
}

// Delete removes everything of a job that has ended or is in quarantine, and what is left under an id without a job. Errors:
// ErrConflict for a job that has not ended, ErrNotFound, those of the bus. It may be repeated after a failure.
func (c *Client) Delete(ctx context.Context, job string) error {
	if err := checkID(job); err != nil {
		return err
	}
	var ended *events.JobEnded
	requested := false
	for e, err := range c.bus.Log().EventsOf(ctx, job, 0) {
		if err != nil {
			return err
		}
		requested, ended = requested || e.Kind == events.KindJobRequested, endAfter(ended, e)
	}
	if !requested {
		return deleteByVerb(ctx, c, job, c.deleteRest(ctx, job))
	}
	if ended == nil {
		saved, err := c.Get(ctx, job)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if saved == nil || saved.Quarantined == nil {
			return conflict(job, "not at its end")
		}
	}
	return deleteByVerb(ctx, c, job, c.bus.Retention().PurgeJob(ctx, job))
}

// deleteByVerb asks a scheduler to delete a job if this client was not permitted to; otherwise it returns err.
func deleteByVerb(ctx context.Context, c *Client, job string, err error) error {
	if errors.Is(err, bus.ErrNotPermitted) {
		return c.ask(ctx, "delete", verb.Ref{ID: job}, nil)
	}
	return err
}
