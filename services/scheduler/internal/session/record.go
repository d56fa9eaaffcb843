package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// State is the state of a session.
type State string

// The states of a session. Each describes its latest jobs; none prevents a further request.
const (
	Active  State = "active"
	Waiting State = "waiting" // One of its jobs asks a person something.
	Stopped State = "stopped" // Its last job was stopped, and no other is active.
)

// Bounds of one record. Finished jobs beyond mostJobs are dropped, the oldest first; beyond mostLive, any job is.
const (
	mostJobs  = 200
	mostLive  = 1000
	mostTitle = 80 // In characters.
	mostGoal  = 120
	mostBytes = 256 << 10 // The whole record, however many SubJobs its jobs hand off.
)

// Record is the stored session: readable JSON under its id.
type Record struct {
	// ID is the id of the session, as the request gave it.
	ID string `json:"id"`
	// Parent is the session from which a SubJob was handed off to this one.
	Parent string `json:"parent,omitempty"`
	// User is the owner; empty for an anonymous session.
	User string `json:"user,omitempty"`
	// Timezone is the time zone for its requests that name none, an IANA name: the last one that a request named.
	Timezone string `json:"timezone,omitempty"`
	// Title is set once, by the first job with a graph or by a person.
	Title string `json:"title,omitempty"`
	State State  `json:"state"`
	// Created and Updated are when the first job came, and when something changed last.
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	// Total counts all jobs that the session ever had; Jobs holds the latest, the oldest first. Threads are the threads of Jobs, each
	// once.
	Total   int      `json:"total"`
	Threads []string `json:"threads,omitempty"`
	Jobs    []Line   `json:"jobs"`
	// Answers are the latest requests that answered questions instead of making jobs, the oldest first.
	Answers []Answer `json:"answers,omitempty"`
}

// Answer says that a request has answered a question instead of starting a job.
type Answer struct {
	// Message is the id of the request, Job the job that asked, Request the question, Answer the answer.
	Message string          `json:"message"`
	Job     string          `json:"job"`
	Request string          `json:"request"`
	Answer  json.RawMessage `json:"answer"`
}

// mostAnswers is how many answers are remembered.
const mostAnswers = 10

// Has reports whether a job is one of the session.
func (r *Record) Has(job string) bool { return r.find(job) != nil }

// Answer returns the answer that a request with an id gave; nil if it gave none.
func (r *Record) Answer(message string) *Answer {
	for i := range r.Answers {
		if r.Answers[i].Message == message {
			return &r.Answers[i]
		}
	}
	return nil
}

// Open are the latest active jobs of the session, each with the SubJob that was handed off to it.
func (r *Record) Open() []Line {
	var open []Line
	for _, l := range r.Jobs {
		if !l.Status.Terminal() && events.ValidToken(l.ID) {
			open = append(open, l)
		}
	}
	return open[max(0, len(open)-mostOpen):]
}

// mostOpen limits how many running jobs of a session are searched for an open question.
const mostOpen = 16

// Line is a job in its session, or the SubJob that was handed off to it.
type Line struct {
	ID     string        `json:"id"`
	SubJob string        `json:"subjob,omitempty"`
	Thread string        `json:"thread,omitempty"`
	Goal   string        `json:"goal,omitempty"`
	Status events.Status `json:"status"`
	// Asking is true while a question to a person is open.
	Asking bool `json:"asking,omitempty"`
	// Ending is true while the job's end is decided and not recorded in the conversation yet.
	Ending  bool      `json:"ending,omitempty"`
	Created time.Time `json:"created"`
	Ended   time.Time `json:"ended,omitzero"`
	// Seq is the last event of the log that the entry includes; 0 before the first.
	Seq uint64 `json:"seq,omitempty"`
	// Handed are the sessions of SubJobs that were handed off.
	Handed []string `json:"handed,omitempty"`
}

func (r *Record) find(job string) *Line {
	for i := range r.Jobs {
		if r.Jobs[i].ID == job {
			return &r.Jobs[i]
		}
	}
	return nil
}

// enter adds a job that is about to be admitted. It reports whether the job is new.
func (r *Record) enter(request *events.Request, now time.Time) bool {
	if r.find(request.ID) != nil {
		return false
	}
	r.add(&Line{ID: request.ID, Thread: request.Thread, Goal: brief(request.Goal, mostGoal), Status: events.Created, Created: now})
	r.Updated = now
	return true
}

// leave removes a job that was not admitted after all.
func (r *Record) leave(job string) bool {
	before := len(r.Jobs)
	r.Jobs = slices.DeleteFunc(r.Jobs, func(l Line) bool { return l.ID == job && l.Seq == 0 })
	r.Total -= before - len(r.Jobs)
	return len(r.Jobs) < before
}

// note records a change of a job. A change that is older than the entry has no effect.
func (r *Record) note(t *loop.SessionRecord) bool {
	l := r.find(t.Job)
	if l == nil {
		if len(r.Jobs) >= mostJobs && t.Created.Before(r.Jobs[0].Created) {
			return false // The job was dropped from the record when there were too many.
		}
		l = r.add(&Line{ID: t.Job, Thread: t.Thread, Goal: brief(t.Goal, mostGoal), Created: t.Created})
	}
	news := Line{
		ID: l.ID, SubJob: t.SubJob, Thread: l.Thread, Goal: l.Goal, Created: l.Created,
		Status: t.Status, Asking: t.Asking, Ending: t.Ending, Ended: t.Ended, Seq: t.Seq, Handed: t.Handed,
	}
	if t.Seq <= l.Seq {
		return false
	}
	title := r.Title
	if title == "" {
		title = brief(t.Title, mostTitle)
	}
	if title == r.Title && l.Status == news.Status && l.Asking == news.Asking && l.Ending == news.Ending && l.Ended.Equal(news.Ended) && slices.Equal(l.Handed, news.Handed) {
		return false // Only the sequence differs: progress of a job is not recorded.
	}
	*l, r.Title, r.Updated = news, title, t.Changed
	return true
}

func (r *Record) add(l *Line) *Line {
	r.Jobs = append(r.Jobs, *l)
	r.Total++
	if r.Created.IsZero() {
		r.Created = l.Created
	}
	return &r.Jobs[len(r.Jobs)-1]
}

// write returns the stored form of the record. What makes it too large is dropped, the oldest first.
func (r *Record) write() ([]byte, error) {
	for {
		r.settle()
		value, err := json.Marshal(r)
		if err != nil || len(value) <= mostBytes || len(r.Jobs) <= 1 {
			return value, err
		}
		r.Jobs = r.Jobs[(len(r.Jobs)+3)/4:]
	}
}

// settle derives the fields that depend on the jobs, and drops jobs beyond the limits.
func (r *Record) settle() {
	for i := 0; len(r.Jobs) > mostJobs && i < len(r.Jobs); {
		if r.Jobs[i].Status.Terminal() || len(r.Jobs) > mostLive {
			r.Jobs = slices.Delete(r.Jobs, i, i+1)
			continue
		}
		i++
	}
	r.State, r.Threads = Active, nil
	asking, live := false, false
	for i := range r.Jobs {
		l := &r.Jobs[i]
		asking = asking || l.Asking
		live = live || !l.Status.Terminal()
		if l.Thread != "" && !slices.Contains(r.Threads, l.Thread) {
			r.Threads = append(r.Threads, l.Thread)
		}
	}
	switch {
	case asking:
		r.State = Waiting
	case !live && len(r.Jobs) > 0 && r.Jobs[len(r.Jobs)-1].Status == events.Stopped:
		r.State = Stopped
	}
}

// mayUse reports whether a person may add to the session: its own user, or anyone when it is anonymous.
func (r *Record) mayUse(user string) bool { return r.User == "" || r.User == user }

// Permits reports whether a person may read and change the session: a fault says that it belongs to another.
func (r *Record) Permits(user string) error {
	if r.mayUse(user) {
		return nil
	}
	return &events.Fault{
		Code: events.CodeNotPermitted, Field: "user", Message: fmt.Sprintf("session %.80q belongs to another user", r.ID),
		Hint: "name the user of the session (--user)",
	}
}

// All returns the ids of the session, first, and of those that its jobs handed off.
func (r *Record) All() []string {
	ids := []string{r.ID}
	for i := range r.Jobs {
		ids = append(ids, r.Jobs[i].Handed...)
	}
	return ids
}

// brief returns the first line of a text, cut to a number of characters.
func brief(text string, most int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most])) + "…"
}
