package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// Written is the end of what a run wrote to its standard error or log.
type Written struct {
	Job    string `json:"job"`
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	// Log is the text. Live is true if it comes from live items, since the run has no report: it has not ended, or its
	// runner died.
	Log  string `json:"log"`
	Live bool   `json:"live,omitempty"`
}

// Written returns the end of the log of a run; run 0 is the latest one. Errors: ErrNotFound for a job, SubJob or run that
// does not exist, and for a log that was deleted; and those of the bus.
func (l Logs) Written(ctx context.Context, job, subjob string, run int) (*Written, error) {
	c := l.client
	if _, err := c.Head(ctx, job); err != nil {
		return nil, err
	}
	if !events.ValidToken(subjob) {
		return nil, noSubJob(job, subjob)
	}
	live, err := l.liveLog(ctx, job, subjob, run)
	if err != nil {
		return nil, err
	}
	report, err := l.report(ctx, job, subjob, run)
	switch {
	case err != nil:
		return nil, err
	case report == nil && live == nil:
		return nil, l.noRun(ctx, job, subjob, run)
	case report == nil || live != nil && live.Run > report.Run:
		return live, nil
	}
	w := &Written{Job: job, SubJob: subjob, Run: report.Run}
	switch data := report.Report(); {
	case data.LogRef != nil:
		text, err := c.Blob(ctx, job, *data.LogRef)
		if err != nil {
			return nil, fmt.Errorf("log of %s/%s, run %d: %w", job, subjob, w.Run, err)
		}
		w.Log = string(text)
	default:
		w.Log = data.Log
	}
	return w, nil
}

// report returns the report of a run, or of the latest one if run is 0; nil if there is none.
func (l Logs) report(ctx context.Context, job, subjob string, run int) (*events.Event, error) {
	n := l.client.Names()
	subject := n.Event(job, events.KindSubJobReported, subjob, ">")
	if run > 0 {
		subject = n.RunEvent(job, events.KindSubJobReported, subjob, run)
	}
	s, err := l.client.bus.Streams().LastOn(ctx, n.Log, subject)
	if errors.Is(err, ErrNotFound) && run > 0 {
		s, err = l.client.bus.Streams().LastOn(ctx, n.Log, n.RunEventOf(job, events.KindSubJobReported, subjob, run, "*"))
	}
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, ok := l.client.bus.Log().Event(s)
	if !ok {
		return nil, fmt.Errorf("report %d of %s/%s: %w: it cannot be read", s.Seq, job, subjob, ErrNotFound)
	}
	return &e, nil
}

// liveLog joins the live items of a run's log; nil if there are none.
func (l Logs) liveLog(ctx context.Context, job, subjob string, run int) (*Written, error) {
	var w *Written
	for m, err := range l.Items(ctx, job, subjob, 0) {
		if errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range m.Items {
			next := &m.Items[i]
			if next.Run == 0 || run > 0 && next.Run != run {
				continue
			}
			if w == nil || next.Run > w.Run {
				w = &Written{Job: job, SubJob: subjob, Run: next.Run, Live: true}
			}
			if next.Type == item.Log && next.Run == w.Run {
				w.Log += next.Text
			}
		}
	}
	return w, nil
}

// noRun returns the error for a run without a report and items.
func (l Logs) noRun(ctx context.Context, job, subjob string, run int) error {
	log, err := l.Fold(ctx, job, 0)
	if err != nil {
		return err
	}
	if log.SubJob(subjob) == nil {
		return noSubJob(job, subjob)
	}
	what := "no run of it has ended or written anything"
	if run > 0 {
		what = "its run " + strconv.Itoa(run) + " has neither ended nor written anything"
	}
	return fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
		Code: events.CodeNotFound, Field: "run", Message: fmt.Sprintf("there is no log of %s/%s: %s", job, subjob, what),
		Hint: "jobgraph describe " + job + "/" + subjob + " shows its runs",
	})
}
