package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// The states of a session.
const (
	SessionActive  = "active"
	SessionWaiting = "waiting" // A job of it asks a person.
	SessionStopped = "stopped" // Its last job was stopped, and no other is under way.
)

// Session is a conversation: the jobs that belong together, as the scheduler keeps it.
type Session struct {
	// ID is the session's, Parent the one from which a SubJob was handed off to it, empty for all others.
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	// User is whose it is, Title what it is called, State one of the states above.
	User  string `json:"user,omitempty"`
	Title string `json:"title,omitempty"`
	State string `json:"state"`
	// Created and Updated are when it began and when something changed last.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Total counts the jobs that ever came, Jobs holds the latest of them, the oldest first. Threads are theirs.
	Total   int          `json:"total"`
	Threads []string     `json:"threads,omitempty"`
	Jobs    []SessionJob `json:"jobs"`
	// Raw is the saved text.
	Raw json.RawMessage `json:"-"`
}

// SessionJob is a job of a session, or the SubJob that was handed off to it. Goal is cut.
type SessionJob struct {
	ID      string        `json:"id"`
	SubJob  string        `json:"subjob,omitempty"`
	Thread  string        `json:"thread,omitempty"`
	Goal    string        `json:"goal,omitempty"`
	Status  events.Status `json:"status"`
	Asking  bool          `json:"asking,omitempty"`
	Created time.Time     `json:"created"`
	Ended   time.Time     `json:"ended,omitzero"`
	// Handed are the sessions of SubJobs that were handed off.
	Handed []string `json:"handed,omitempty"`
}

// SessionQuery selects sessions for Sessions. The zero value selects all but those of handed-off SubJobs.
type SessionQuery struct {
	// User and State must be these, when given.
	User, State string
	// All adds the sessions of SubJobs that were handed off.
	All bool
}

func (q SessionQuery) wants(s *Session) bool {
	return (q.User == "" || q.User == s.User) && (q.State == "" || q.State == s.State) && (q.All || s.Parent == "")
}

// Sessions reads and changes conversations, each of which has any number of jobs.
type Sessions struct{ client *Client }

// List gives the sessions that fit, the one that changed last first. Errors: those of the bus.
func (s Sessions) List(ctx context.Context, q SessionQuery) ([]*Session, error) {
	entries, err := s.client.bus.SessionRecords(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Session
	for _, e := range entries {
		found := &Session{Raw: e.Value}
		if json.Unmarshal(e.Value, found) == nil && len(found.Jobs) > 0 && q.wants(found) {
			list = append(list, found)
		}
	}
	slices.SortFunc(list, func(a, b *Session) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Get reads a session with its latest jobs. Errors: ErrNotFound, those of the bus.
func (s Sessions) Get(ctx context.Context, id string) (*Session, error) {
	value, _, err := s.client.bus.Sessions().GetLeader(ctx, bus.SessionKey(id))
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return nil, err
	}
	found := &Session{Raw: value}
	if err != nil || json.Unmarshal(value, found) != nil || len(found.Jobs) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, &events.Fault{
			Code: events.CodeNotFound, Field: "session", Message: fmt.Sprintf("there is no session %.80q", id), Hint: "jobgraph sessions list --all",
		})
	}
	return found, nil
}

// Rename gives a session a title that no job changes. Errors: ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Sessions) Rename(ctx context.Context, id, title string) error {
	return s.client.ask(ctx, "sessions.rename", map[string]any{"id": id, "title": title}, nil)
}

// Stop stops the jobs of a session that are under way, waits up to 5 s for their ends, and gives their ids. The
// session can be gone on with. Errors: ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Sessions) Stop(ctx context.Context, id, reason, by string) (jobs []string, err error) {
	var told struct {
		Stopped []string `json:"stopped"`
	}
	err = s.client.ask(ctx, "sessions.stop", map[string]any{"id": id, "reason": reason, "by": by}, &told)
	return told.Stopped, err
}

// Delete removes the record of a session with its documents, and with jobs everything of the jobs that it lists, which it gives.
// Errors: ErrConflict while a job of it goes on, ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Sessions) Delete(ctx context.Context, id string, jobs bool) (deleted []string, err error) {
	var told struct {
		Jobs []string `json:"jobs"`
	}
	err = s.client.ask(ctx, "sessions.delete", map[string]any{"id": id, "jobs": jobs}, &told)
	return told.Jobs, err
}

// ask has the scheduler do something, and reads its answer into told.
func (c *Client) ask(ctx context.Context, verb string, request, told any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	answer, fault, err := c.bus.Services().Request(ctx, c.Names().API(verb), body)
	switch {
	case errors.Is(err, bus.ErrUnavailable):
		return noScheduler(c.Names().API(verb), err)
	case err != nil:
		return err
	case fault == nil && told != nil:
		return json.Unmarshal(answer, told)
	case fault == nil:
		return nil
	case fault.Code == events.CodeNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, fault)
	case fault.Code == events.CodeConflict:
		return fmt.Errorf("%w: %w", ErrConflict, fault)
	}
	return fault
}
