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
)

// Tell publishes a control event of a job and gives its sequence. Whether it is legal is decided when the log is folded:
// an illegal one is ignored there. Errors: ErrNotFound for a job that does not exist, and those of the bus.
func (c *Client) Tell(ctx context.Context, job string, kind events.Kind, data any) (uint64, error) {
	if err := checkID(job); err != nil {
		return 0, err
	}
	there, err := c.exists(ctx, job)
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
	m.Header[events.HeaderMsgID] = []string{id} // An outcome that is unknown may be tried again.
	seq, err := c.bus.Publish(ctx, m, bus.Expect{})
	if errors.Is(err, bus.ErrUnknown) && ctx.Err() == nil {
		seq, err = c.bus.Publish(ctx, m, bus.Expect{})
	}
	return seq, err
}

// Stop asks a job, or one SubJob of it, to stop and waits until the job has ended, or with Only until the request is
// stored. Of a job in quarantine the work is ended, and the error is ErrQuarantined: the request is kept for the day on which
// the scheduler takes the job up again. Errors: ErrConflict for a job or SubJob that has ended, a SubJob at another run, and a
// job that has FINISHED all the same; ErrNotFound; the context's own.
func (c *Client) Stop(ctx context.Context, job string, s events.StopRequested) error {
	return c.end(ctx, job, events.KindStopRequested, &s, &s)
}

// Fail declares a job, or one SubJob of it, failed; it waits as Stop does.
func (c *Client) Fail(ctx context.Context, job string, f events.FailRequested) error {
	return c.end(ctx, job, events.KindFailRequested, &f, (*events.StopRequested)(&f))
}

func (c *Client) end(ctx context.Context, job string, kind events.Kind, data any, asked *events.StopRequested) error {
	if err := checkID(job); err != nil {
		return err
	}
	saved, err := c.Get(ctx, job)
	if errors.Is(err, ErrNotFound) { // Not saved yet, or not there at all: the log tells.
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
	// Behind an end the fold ignores the request, and no other end follows it.
	if err := c.going(ctx, job, saved, seq); err != nil || asked.Only {
		return err
	}
	if _, err = c.endBehind(ctx, job, seq); err != nil || asked.SubJob == "" {
		return err
	}
	return c.heeded(ctx, job, seq)
}

// endWaiting ends a job whose request waits in the queue: a scheduler admits it and ends it at once, so that the log tells of both.
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

// aimed refuses a request about a SubJob that the fold would ignore. Only a saved state that is up to date tells; about any
// other one, and a state in several keys, the fold decides.
func (c *Client) aimed(ctx context.Context, job string, saved *Job, asked *events.StopRequested) error {
	if asked.SubJob == "" || len(saved.SubJobs) == 0 || saved.Quarantined != nil {
		return nil
	}
	for e, err := range c.bus.Log().EventsOf(ctx, job, saved.Seq) {
		if err != nil {
			return err
		}
		if e.Kind != events.KindJobAdvanced { // That one tells of a save and moves nothing.
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

// heeded is ErrConflict when a job has FINISHED behind a request to end it by one SubJob: the fold has ignored the request.
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
		break // A later end is that of a job that was taken up again.
	}
	return nil
}

func stale(job, what string) error {
	return fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
		Code: events.CodeConflict, Field: "subjob", Message: what, Hint: "jobgraph get " + job + " shows where the job stands",
	})
}

// going is ErrConflict for a job that stood at its end before an event of its log, as the saved state and the log behind it
// tell. A request to go on that the saved state does not cover counts as granted.
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

// revives reports whether a job that has ended may go on behind an event of a kind.
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

// Recover asks a STOPPED or FAILED job to go on; finished work is kept. It returns when the request is stored.
func (c *Client) Recover(ctx context.Context, job string, r events.RecoverRequested) error {
	_, err := c.Tell(ctx, job, events.KindRecoverRequested, &r)
	return err
}

// Retry asks for another run of a FAILED or STOPPED SubJob.
func (c *Client) Retry(ctx context.Context, job string, r events.RetryRequested) error {
	_, err := c.Tell(ctx, job, events.KindRetryRequested, &r)
	return err
}

// Rerun runs a SubJob again, with the fields of its text that r.Edit gives replaced, and with it all that follows from it; a job that has
// ended goes on. Run 0 is the SubJob's present run. It returns when the log shows that the request was granted. Errors: ErrNotFound for a
// job or SubJob that does not exist, ErrConflict with the reason for what is not possible as the job stands or a SubJob at another run,
// and those of Logs.Fold and the bus.
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

// Answer closes a request for input. The bus admits one answer: the same one again is no error, another one is ErrConflict.
// One that does not fit a message is bus.ErrTooLarge with a fault that gives the limit, and the request stays open. Whether by
// may answer is checked by the API and the command line, not here and not when the log is folded.
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

// closedSo reports whether a request was closed just so before.
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

// deleteRest removes what a deletion that was cut off behind the log may have left, the state, and an import that was cut off before
// it, journals.
func (c *Client) deleteRest(ctx context.Context, job string) error {
	_, err := c.Get(ctx, job)
	if err == nil {
		return c.bus.Retention().PurgeRest(ctx, job)
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if purged := c.bus.Retention().PurgeJournals(ctx, job); !errors.Is(purged, ErrNotFound) {
		return purged
	}
	return err
}

// Delete removes everything of a job that has ended, or that the scheduler leaves alone for good. Errors: ErrConflict for one that has not, ErrNotFound, those of the
// bus; it may be repeated after a failure.
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
		return c.deleteRest(ctx, job)
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
	return c.bus.Retention().PurgeJob(ctx, job)
}
