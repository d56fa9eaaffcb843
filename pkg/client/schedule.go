package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Schedule is a schedule with its state, its latest runs and its next due times.
type Schedule struct {
	schedule.State
	// Upcoming are the next due times, at most three.
	Upcoming []time.Time `json:"upcoming,omitempty"`
	// Duplicate is true in the answer to a repeated creation.
	Duplicate bool `json:"duplicate,omitempty"`
	// Asks are the questions to people for which runs wait, when the schedule was read; List shortens them.
	Asks []verb.Question `json:"asks,omitempty"`
}

// Schedules creates, reads and changes schedules.
type Schedules struct{ client *Client }

// Create creates a schedule; an empty id is generated. Repeating it returns the existing schedule. Errors: events.Faults
// with everything that is wrong, ErrConflict if another schedule has the id, bus.ErrUnavailable without a scheduler.
func (s Schedules) Create(ctx context.Context, id string, spec schedule.Spec) (*Schedule, error) {
	body, err := json.Marshal(struct {
		ID string `json:"id,omitempty"`
		schedule.Spec
	}{id, spec})
	if err != nil {
		return nil, fmt.Errorf("create schedule: %w", err)
	}
	if len(body) > bus.MaxMessage {
		return nil, events.Faults{{
			Code: events.CodeTooLarge, Field: "request", Message: fmt.Sprintf("the schedule has %d bytes, at most %d fit a message", len(body), bus.MaxMessage),
			Hint: "store what is large where the experts can read it",
		}}
	}
	made := &Schedule{}
	return made, askWhole(ctx, s.client, "schedule.create", json.RawMessage(body), made)
}

// List lists schedules by id, all or those with a status, in short form: the request is cut, and only the latest run is
// included. Errors: bus.ErrUnavailable without a scheduler.
func (s Schedules) List(ctx context.Context, status schedule.Status) ([]*Schedule, error) {
	var all []*Schedule
	for {
		var page struct {
			Schedules []*Schedule `json:"schedules"`
			Total     int         `json:"total"`
		}
		if err := s.client.ask(ctx, "schedule.list", map[string]any{"status": status, "offset": len(all)}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Schedules...)
		if len(page.Schedules) == 0 || len(all) >= page.Total {
			return all, nil
		}
	}
}

// Get returns a schedule with its latest runs, oldest first. Errors: ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Schedules) Get(ctx context.Context, id string) (*Schedule, error) {
	return s.do(ctx, "get", id, schedule.Word{})
}

// Pause stops new runs until the schedule is resumed; a running one continues. Errors: ErrConflict if it is paused or done,
// ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Schedules) Pause(ctx context.Context, id string, w schedule.Word) (*Schedule, error) {
	return s.do(ctx, "pause", id, w)
}

// Resume continues a paused schedule with the next due time from now on; those that passed while it was paused are skipped.
// Errors: ErrConflict if it is not paused, ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Schedules) Resume(ctx context.Context, id string, w schedule.Word) (*Schedule, error) {
	return s.do(ctx, "resume", id, w)
}

// Trigger asks for an additional run now; its job's id is that of the latest run in the answer. Errors: ErrConflict if a
// run is in progress and the schedule skips overlaps, ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Schedules) Trigger(ctx context.Context, id string, w schedule.Word) (*Schedule, error) {
	return s.do(ctx, "trigger", id, w)
}

// Delete removes a schedule. Its jobs stay, and running ones continue. Errors: ErrNotFound, bus.ErrUnavailable without a
// scheduler.
func (s Schedules) Delete(ctx context.Context, id string, w schedule.Word) error {
	_, err := s.do(ctx, "delete", id, w)
	return err
}

func (s Schedules) do(ctx context.Context, name, id string, w schedule.Word) (*Schedule, error) {
	request := map[string]string{"id": id}
	if w.Reason != "" {
		request["reason"] = w.Reason
	}
	if w.By != "" {
		request["by"] = w.By
	}
	changed := &Schedule{}
	return changed, s.client.ask(ctx, "schedule."+name, request, changed)
}
