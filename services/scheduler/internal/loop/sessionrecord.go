package loop

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// SessionRecord describes a job, or a SubJob that was handed off, to its session.
type SessionRecord struct {
	// Session is the session, Parent the one that handed the SubJob off; User and Thread are those of the request.
	Session, Parent, User, Thread string
	// Job and SubJob identify the author of the items; SubJob is empty for the job itself.
	Job, SubJob string
	// Goal is the request's goal, Title the title of the graph, empty without one.
	Goal, Title string
	// Status is the status of the job or SubJob; Asking is true while a question to a person is open.
	Status events.Status
	Asking bool
	// Ending is true while the end of the job is decided and not in its log yet.
	Ending bool
	// Created, Changed and Ended are times of the log. Seq is the sequence of the last event that the record covers.
	Created, Changed, Ended time.Time
	Seq                     uint64
	// Handed are the sessions of handed-off SubJobs, and Children the records for them.
	Handed   []string
	Children []SessionRecord
}

// maxHanded is the maximum number of SubJobs of a job with session records.
const maxHanded = 50

// talkOf returns the record for the session of a job; nil for a job without one.
func talkOf(s *graph.State) *SessionRecord {
	if s.Session == "" {
		return nil
	}
	t := &SessionRecord{
		Session: s.Session, User: s.User, Thread: s.Thread, Job: s.ID, Goal: s.Goal, Status: s.Status, Asking: len(s.Inputs) > 0, Ending: s.EndOwed,
		Created: s.Created, Changed: s.Changed, Ended: s.Ended, Seq: s.Seq, Title: s.Title,
	}
	steps := 0
	for _, n := range s.SubJobs {
		if n.ID == events.PlanID || n.ID == events.FinalID {
			continue
		}
		if steps++; steps == 1 && t.Title == "" {
			t.Title = n.Title
		}
		if n.Told != "" && len(t.Handed) < maxHanded {
			t.Handed = append(t.Handed, n.Session)
			t.Children = append(t.Children, t.child(n))
		}
	}
	if steps > 0 && t.Title == "" {
		t.Title = s.Goal
	}
	return t
}

// child returns the record for the session of a SubJob that was handed off.
func (t *SessionRecord) child(n *graph.SubJobState) SessionRecord {
	c := SessionRecord{
		Session: n.Session, Parent: t.Session, User: t.User, Thread: t.Thread, Job: t.Job, SubJob: n.ID, Goal: n.Title, Title: n.Title,
		Status: n.Status, Asking: n.Request != "", Created: n.Started, Changed: t.Changed, Ended: n.Ended, Seq: t.Seq,
	}
	if c.Goal == "" {
		c.Goal, c.Title = t.Goal, t.Goal
	}
	if c.Created.IsZero() {
		c.Created = t.Changed
	}
	if n.Ended.After(c.Changed) {
		c.Changed = n.Ended
	}
	return c
}
