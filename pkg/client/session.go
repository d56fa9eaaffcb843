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
	SessionWaiting = "waiting" // One of its jobs waits for a person.
	SessionStopped = "stopped" // Its last job was stopped, and no other is running.
)

// Session is the scheduler's record of a session: jobs that belong together.
type Session struct {
	// ID is its id. Parent is the session from which a SubJob was handed off to it; empty for all others.
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	// User is its owner, Title its title, State one of the states above.
	User  string `json:"user,omitempty"`
	Title string `json:"title,omitempty"`
	State string `json:"state"`
	// Created and Updated are the times of its beginning and its last change.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Total counts all jobs; Jobs lists the latest of them, oldest first; Threads are the threads of those.
	Total   int          `json:"total"`
	Threads []string     `json:"threads,omitempty"`
	Jobs    []SessionJob `json:"jobs"`
	// Raw is the saved record as JSON.
	Raw json.RawMessage `json:"-"`
}

// SessionJob is a job of a session, or the SubJob that was handed off to it. Goal is shortened.
type SessionJob struct {
	ID      string        `json:"id"`
	SubJob  string        `json:"subjob,omitempty"`
	Thread  string        `json:"thread,omitempty"`
	Goal    string        `json:"goal,omitempty"`
	Status  events.Status `json:"status"`
	Asking  bool          `json:"asking,omitempty"`
	Ending  bool          `json:"ending,omitempty"` // Ending is true while the end is decided and not recorded yet.
	Created time.Time     `json:"created"`
	Ended   time.Time     `json:"ended,omitzero"`
	// Handed are the sessions of handed-off SubJobs.
	Handed []string `json:"handed,omitempty"`
}

// SessionQuery selects sessions for Sessions.List. The zero value selects all except those of handed-off SubJobs.
type SessionQuery struct {
	// User and State must have these values, if set.
	User, State string
	// All includes the sessions of handed-off SubJobs.
	All bool
}

func (q SessionQuery) wants(s *Session) bool {
	return (q.User == "" || q.User == s.User) && (q.State == "" || q.State == s.State) && (q.All || s.Parent == "")
}

// Sessions reads and changes sessions.
type Sessions struct {
	client *Client
	user   string
}

// List returns the matching sessions, the most recently changed first. Errors: those of the bus.
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

// As returns Sessions that reads and changes sessions as a user: a session that belongs to a user is for that user alone.
// Client.Sessions returns Sessions without a user, for sessions that belong to none.
func (s Sessions) As(user string) Sessions { return Sessions{s.client, user} }

// Get returns a session with its latest jobs. Errors: ErrNotFound, bus.ErrNotPermitted for another user's session, those of
// the bus.
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
	if found.User != "" && found.User != s.user {
		return nil, fmt.Errorf("%w: %w", bus.ErrNotPermitted, &events.Fault{
			Code: events.CodeNotPermitted, Field: "user", Message: fmt.Sprintf("session %.80q belongs to another user", id), Hint: "name the user of the session (--user)",
		})
	}
	return found, nil
}

// Rename gives a session a title that jobs do not change. Errors: ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Sessions) Rename(ctx context.Context, id, title string) error {
	return s.client.ask(ctx, "sessions.rename", s.named(map[string]any{"id": id, "title": title}), nil)
}

// Stop stops the running jobs of a session, waits up to 5 s for their ends, and returns their ids. The session can be
// continued. Errors: ErrNotFound, bus.ErrUnavailable without a scheduler.
func (s Sessions) Stop(ctx context.Context, id, reason, by string) (jobs []string, err error) {
	var told struct {
		Stopped []string `json:"stopped"`
	}
	err = s.client.ask(ctx, "sessions.stop", s.named(map[string]any{"id": id, "reason": reason, "by": by}), &told)
	return told.Stopped, err
}

// Delete removes the record of a session with its documents. With jobs it also removes everything of the jobs that it
// lists, and returns their ids. Errors: ErrConflict while one of its jobs is running, ErrNotFound, bus.ErrUnavailable
// without a scheduler.
func (s Sessions) Delete(ctx context.Context, id string, jobs bool) (deleted []string, err error) {
	var told struct {
		Jobs []string `json:"jobs"`
	}
	err = s.client.ask(ctx, "sessions.delete", s.named(map[string]any{"id": id, "jobs": jobs}), &told)
	return told.Jobs, err
}

// named adds the user to a request, if there is one.
func (s Sessions) named(request map[string]any) map[string]any {
	if s.user != "" {
		request["user"] = s.user
	}
	return request
}
