package route

import (
	"context"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// admittedWithin is how long a message may wait in the queue before its client is told; a scheduler that is only restarting may be back
// by then. askedEvery is the pause between two requests.
const admittedWithin, askedEvery = 1500 * time.Millisecond, 100 * time.Millisecond

// admitted submits the message until a scheduler has read it. If none does in time, the message stays in the queue, where it is the
// same job when it is sent again, and the error is a fault that says so.
func (t *turn) admitted(ctx context.Context) (client.Receipt, error) {
	alone := t.derive
	for begun := time.Now(); ; alone = nil { // What was queued keeps its id.
		receipt, err := client.AskOr(ctx, t.call.gateway.Client, t.request, alone)
		if err != nil || receipt.Admitted {
			return receipt, err
		}
		if time.Since(begun) >= admittedWithin {
			t.call.made = receipt.JobID
			byKey := t.call.r.Header.Get(keyHeader) != ""
			return receipt, t.unread(&receipt, t.derived || byKey || t.session == "" && t.settle(false))
		}
		select {
		case <-ctx.Done():
			return receipt, context.Cause(ctx)
		case <-time.After(askedEvery):
		}
	}
}

// unread returns the fault for a message that no scheduler has read; known is true if it is the same job when it is sent again.
func (t *turn) unread(receipt *client.Receipt, known bool) *events.Fault {
	h := t.call.w.Header()
	h.Set(jobHeader, receipt.JobID)
	h.Set(sessionHeader, t.request.Session)
	fault := &events.Fault{
		Code: events.CodeUnavailable, Message: "no scheduler has read the message, which waits in the queue as job " + receipt.JobID,
		Hint: "start one: jobgraph up, or the scheduler service",
	}
	if receipt.Waits != "" {
		fault.Message, fault.Cause, fault.Hint = "the message waits in the queue as job "+receipt.JobID, receipt.Waits, "`jobgraph doctor` says what makes room"
	}
	if !known {
		h.Set("X-Should-Retry", "false") // The same message would be another job: its session is named, or nothing could be noted.
		fault.Hint += "; then the job runs: do not send it again"
	} else {
		fault.Hint += "; the same message, sent again within 10 minutes, gets the answer of this job"
	}
	return fault
}

// derivedFor is how long the id that follows from a message stays the same.
const derivedFor = time.Hour

// derivedIDs returns the ids that follow from the message now and from the time before: its owner, what was said, the model.
func (t *turn) derivedIDs() []string {
	now := time.Now().Unix() / int64(derivedFor/time.Second)
	digest := t.digest()
	return []string{keyed(digest, strconv.FormatInt(now, 10)), keyed(digest, strconv.FormatInt(now-1, 10))}
}

// derive gives a message that begins a session, and that no scheduler is there to read, an id that follows from it, so that it is the same
// job when it is sent again. Nothing else may remember it: where the bus has roles, a scheduler writes what the gateway notes.
func (t *turn) derive(r *events.Request) error {
	if !t.fresh {
		return nil
	}
	id := t.derivedIDs()[0]
	before, err := t.requested(t.call.r.Context(), id)
	if err != nil || before != nil {
		return err // The same message had its answer within the hour: this is a new one.
	}
	r.ID, r.Session = id, id
	t.request.ID, t.request.Session, t.derived, t.fresh = id, id, true, false
	return nil
}

// resume finds the job of a message that was queued under an id that follows from it, and has been admitted since.
func (t *turn) resume(ctx context.Context) error {
	if !t.fresh {
		return nil
	}
	for _, id := range t.derivedIDs() {
		e, err := t.requested(ctx, id)
		if err != nil {
			return err
		}
		if e == nil || time.Since(e.Time) > leftFor {
			continue
		}
		if first, ok := e.Data.(*events.JobRequested); ok && first.Request.User == t.request.User {
			t.request.ID, t.request.Session, t.derived, t.fresh = id, id, true, false
			return nil
		}
	}
	return nil
}

// requested returns the first event of a job; nil if it is not in the log.
func (t *turn) requested(ctx context.Context, id string) (*events.Event, error) {
	e, err := t.call.gateway.Client.Bus().Log().LastOf(ctx, id, events.KindJobRequested)
	if err != nil || e.Seq == 0 {
		return nil, err
	}
	return &e, nil
}
