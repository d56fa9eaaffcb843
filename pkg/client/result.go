package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Result is what an ended job leaves: an answer, files, or the reason why there is none.
type Result struct {
	Status events.Status
	// Value is the answer, nil if there is none; a payload that is not JSON is returned as a string.
	Value json.RawMessage
	// Partial is true if Value contains the results of some SubJobs of a job that has not FINISHED.
	Partial bool
	// Artifacts are the files of the result, named SUBJOB/NAME; Fetch reads them.
	Artifacts []events.Ref
	// Error says why the job FAILED or was STOPPED.
	Error *events.Fault
	// DurationMS is the time from admission to the end, in milliseconds.
	DurationMS int64
	events.Spent
}

// Result returns the result of a job. It does not wait; Wait does. Errors: ErrConflict for a job that has not ended,
// ErrNotFound for one that does not exist or whose result was deleted, and those of the bus.
func (c *Client) Result(ctx context.Context, job string) (*Result, error) {
	ended, _, err := c.lastEnd(ctx, job)
	if err != nil {
		return nil, err
	}
	if ended == nil {
		return nil, conflict(job, "not at its end")
	}
	value, err := joblog.Answer(ended.Result, ended.ResultRef, c.Logs().payloads(ctx, job))
	if err != nil {
		return nil, fmt.Errorf("result of job %s: %w", job, err)
	}
	return &Result{
		Status: ended.Status, Value: value, Partial: value != nil && ended.Status != events.Finished, Artifacts: ended.Artifacts, Error: ended.Error,
		DurationMS: ended.DurationMS, Spent: ended.Spent,
	}, nil
}

// lastEnd returns how a job ended, nil if it is running, and the sequence after which its next end will come. Errors:
// ErrNotFound for a job that does not exist.
func (c *Client) lastEnd(ctx context.Context, job string) (*events.JobEnded, uint64, error) {
	if err := checkID(job); err != nil {
		return nil, 0, err
	}
	end, err := c.bus.Log().LastOf(ctx, job, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped)
	if err != nil {
		return nil, 0, err
	}
	again, err := c.bus.Log().LastOf(ctx, job, events.KindJobRecovered)
	if err != nil {
		return nil, 0, err
	}
	if ended, ok := Ended(end); ok && end.Seq > again.Seq {
		return ended, end.Seq, nil
	}
	if end.Seq == 0 && again.Seq == 0 {
		if there, err := c.Logs().exists(ctx, job); err != nil || !there {
			return nil, 0, cmp.Or(err, notFound(job))
		}
	}
	return nil, max(end.Seq, again.Seq), nil
}
