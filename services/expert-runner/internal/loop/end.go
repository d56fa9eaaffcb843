package loop

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// end journals the ending, publishes it and acknowledges the work. The journal record is sent first and awaited together with the
// publish: once the log has the report, the journal is not needed.
func (r *run) end(e task.Ending) {
	r.watched.end(true)
	e = r.ready(e) // May take as long as an upload; the claim is renewed until then.
	r.heartbeat.stop()
	outcome := events.Outcome(e.Kind())
	if e.Report != nil {
		outcome = e.Report.Outcome
	}
	published := r.publish(e)
	if r.span.close != nil {
		r.span.end(&e, outcome, published)
	}
	if published {
		r.meter.Reported(outcome, time.Since(r.started))
	}
}

// ready signs the ending and stores large parts as blobs. While the bus is away it waits: the work is done and should not be lost.
func (r *run) ready(e task.Ending) task.Ending {
	e = e.Sound()
	if e.Report != nil && e.Report.Log == "" {
		e.Report.Log = r.watched.kept()
	}
	e = redacted(r.loop.Secrets.Redactor(), e)
	e.Sign(r.loop.Owner, r.started.UTC(), time.Now())
	if e.Report == nil {
		return e
	}
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		err := r.payloads.offload(r.base, e.Report, r.Select)
		var syntax *json.SyntaxError
		switch {
		case err == nil:
			return e
		case errors.As(err, &syntax), errors.Is(err, store.ErrTooLarge):
			e = task.Failure(events.CodeMalformed, "the output is no JSON, or too large to be kept", err.Error(), "report valid JSON")
			e.Sign(r.loop.Owner, r.started.UTC(), time.Now())
			return e
		case lease.Pause(r.base, retry) != nil:
			return e // publish will meet the same error and give the message back.
		}
	}
}

// publish publishes the ending until it is stored, and acknowledges the work. It returns false if the process ends first, or if a
// crash is simulated: then the work is delivered again, and the journal answers it.
func (r *run) publish(e task.Ending) bool {
	event := r.Event(e, source)
	event.Trace = r.delivery.Trace
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		if r.loop.at(BeforeReport, r) != nil {
			return false
		}
		err := r.say(e, event)
		if err == nil || errors.Is(err, store.ErrConflict) {
			break // Stored, or reported before.
		}
		if lost := (*unkept)(nil); errors.As(err, &lost) {
			r.abandon(lost.why)
			return false
		}
		if errors.Is(err, store.ErrTooLarge) || errors.Is(err, errNoJSON) {
			e = task.Failure(events.CodeTooLarge, "the report cannot be published", err.Error(), "report less, and valid JSON")
			e.Sign(r.loop.Owner, r.started.UTC(), time.Now())
			event = r.Event(e, source)
			continue
		}
		if r.loop.said.let("publish") {
			r.loop.Logger.Warn("report waits for the bus", "error", err)
		}
		if lease.Pause(r.base, retry) != nil {
			r.loop.settled(r.delivery, r.delivery.Receipt.Nak(retryFailed))
			return false
		}
	}
	r.loop.Meter.Published(event.Kind)
	if r.loop.at(AfterReport, r) != nil {
		return false
	}
	r.loop.settled(r.delivery, r.delivery.Receipt.Ack())
	return r.loop.at(AfterAck, r) == nil
}

// errNoJSON marks a payload that cannot be encoded.
var errNoJSON = errors.New("the report cannot be encoded")

// unkept marks an ending that the journal did not accept: the run has another owner, or is over.
type unkept struct{ why error }

func (u *unkept) Error() string { return "the end could not be journaled: " + u.why.Error() }

// say sends the journal record and the event, and waits for both. For a success both are sent together, and the event decides.
func (r *run) say(e task.Ending, event events.Event) error {
	kept := func() {}
	if r.hold != nil && !e.Unsafe {
		body, err := events.Marshal(event.Data)
		if err != nil {
			return errors.Join(errNoJSON, err)
		}
		rec := r.Record(e, r.loop.Owner, body)
		if e.Report != nil && e.Report.Outcome == events.Success {
			kept = r.hold.Report(r.base, rec)
		} else if err := r.keep(&e, rec); err != nil {
			return &unkept{err}
		}
		event.Data = events.Verbatim(body)
	}
	said, err := r.loop.Log.Once(event)
	if err != nil {
		return errors.Join(errNoJSON, err)
	}
	_, err = said.Wait(r.base)
	kept()
	return err
}

// keep journals an ending that leads to another run, before it is published: a runner that has lost the run must not end the run
// of its current owner. A question about an unknown outcome waits for the journal without a time limit, since its answer decides
// about the intents before it; any other ending waits for a second.
func (r *run) keep(e *task.Ending, rec events.JournalRecord) error {
	if e.Park != nil && e.Park.Kind == events.InputUnknown {
		return r.hold.Ask(r.base, rec)
	}
	return r.hold.End(r.base, rec)
}
