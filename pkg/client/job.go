package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
)

// Job is the saved state of a job, with the fields that lists show. Raw holds all of it.
type Job struct {
	ID       string                `json:"id"`
	Status   events.Status         `json:"status"`
	Goal     string                `json:"goal"`
	Title    string                `json:"title"`
	Profile  string                `json:"profile"`
	Session  string                `json:"session"`
	User     string                `json:"user"`
	Labels   map[string]string     `json:"labels"`
	Seq      uint64                `json:"seq"`
	Created  time.Time             `json:"created"`
	Changed  time.Time             `json:"changed"`
	Ended    time.Time             `json:"ended"`
	Counts   map[events.Status]int `json:"counts"`
	Progress struct {
		Done  int `json:"done"`
		Total int `json:"total"`
	} `json:"progress"`
	Result    json.RawMessage `json:"result"`
	ResultRef *events.Ref     `json:"result_ref"`
	Error     *events.Fault   `json:"error"`
	// Cost is what the job has cost so far.
	Cost events.Spent `json:"cost"`
	// SubJobs are the nodes; empty for a state stored in several keys.
	SubJobs []SubJob `json:"subjobs"`
	// Quarantined says why the job is in quarantine, if it is.
	Quarantined *events.Fault `json:"quarantined"`
	// Saved is when the state was written; for a job in quarantine, when it was put there.
	Saved time.Time `json:"-"`
	// Raw is the saved state as JSON.
	Raw json.RawMessage `json:"-"`
}

// SubJob is one node of a saved state.
type SubJob struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Status   events.Status `json:"status"`
	Expert   string        `json:"expert"`
	Run      int           `json:"run"`
	Attempts int           `json:"attempts"`
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended"`
	Skipped  bool          `json:"skipped"`
	Error    *events.Fault `json:"error"`
}

// Get reads the saved state of a job. It may be behind the log by the scheduler's save interval. Errors: ErrNotFound, and
// those of the bus.
func (c *Client) Get(ctx context.Context, job string) (*Job, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	entry, err := c.bus.State().Entry(ctx, job)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, c.absent(ctx, job)
	}
	if err != nil {
		return nil, err
	}
	return decodeJob(entry)
}

// State reads the whole saved state of a job as the core wrote it, even if it is stored in several keys. Errors:
// ErrNotFound, including while the scheduler is rewriting the chunks, and those of the bus.
func (c *Client) State(ctx context.Context, job string) (json.RawMessage, error) {
	j, err := c.Get(ctx, job)
	if err != nil {
		return nil, err
	}
	h := kept.Read(j.Raw)
	if h == nil || h.Chunks == nil {
		return kept.Bare(j.Raw), nil
	}
	whole := make([]byte, 0, h.Size)
	for n, want := range h.Chunks {
		part, revision, err := c.bus.State().GetLeader(ctx, job+"."+strconv.Itoa(n))
		if err == nil && revision != want {
			err = fmt.Errorf("%w: part %d is being written", ErrNotFound, n)
		}
		if err != nil {
			return nil, fmt.Errorf("saved state of %s: %w", job, err)
		}
		whole = append(whole, part...)
	}
	return whole, nil
}

func decodeJob(e bus.Entry) (*Job, error) {
	var j Job
	if err := json.Unmarshal(e.Value, &j); err != nil {
		return nil, fmt.Errorf("saved state: %w", err)
	}
	if j.Raw, j.Saved = e.Value, e.Time; j.ID == "" {
		j.ID = e.Key // The value may contain nothing but a quarantine.
	}
	return &j, nil
}

// Query selects jobs for List. The zero value selects all.
type Query struct {
	// Labels must all be present with these values.
	Labels map[string]string
	// States are the accepted statuses; any if empty.
	States []events.Status
	// Session selects the jobs of a session, User those of a person.
	Session, User string
	// Offset skips the newest matching jobs; Limit is the most jobs to return, 0 for all.
	Offset, Limit int
}

func (q Query) wants(j *Job) bool {
	for k, v := range q.Labels {
		if have, ok := j.Labels[k]; !ok || have != v {
			return false
		}
	}
	return (len(q.States) == 0 || slices.Contains(q.States, j.Status)) && (q.Session == "" || q.Session == j.Session) && (q.User == "" || q.User == j.User)
}

// page returns the part of a list that Offset and Limit select.
func (q Query) page(list []*Job) []*Job {
	list = list[min(max(0, q.Offset), len(list)):]
	if q.Limit > 0 {
		list = list[:min(q.Limit, len(list))]
	}
	return list
}

// List returns the saved states of all matching jobs, newest first.
func (c *Client) List(ctx context.Context, q Query) ([]*Job, error) {
	entries, err := c.bus.State().List(ctx)
	if err != nil {
		return nil, err
	}
	var list []*Job
	known := map[string]bool{}
	for _, e := range entries {
		if strings.Contains(e.Key, ".") { // A chunk of a state stored in several keys.
			continue
		}
		j, err := decodeJob(e)
		if err != nil {
			continue // It cannot be repaired here; the scheduler folds it again.
		}
		known[j.ID] = true
		if q.wants(j) {
			list = append(list, j)
		}
	}
	fresh, err := c.fresh(ctx, known)
	if err != nil {
		return nil, err
	}
	for _, j := range fresh {
		if q.wants(j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *Job) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return q.page(list), nil
}

// recent is how many of the log's last messages are searched for jobs without a saved state.
const recent = 5_000

// fresh returns jobs that were admitted just now and have no saved state yet, so that a list contains a job right after its
// submission.
func (c *Client) fresh(ctx context.Context, known map[string]bool) ([]*Job, error) {
	n := c.Names()
	last, err := c.bus.Streams().LastOn(ctx, n.Log, n.AllEvents())
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*Job
	for e, err := range c.bus.Log().Requested(ctx, max(last.Seq, recent)-recent+1, last.Seq) {
		if err != nil {
			return nil, err
		}
		asked, ok := e.Data.(*events.JobRequested)
		if !ok || known[e.Job] {
			continue
		}
		known[e.Job] = true
		j, err := begun(&e, &asked.Request)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

// begun builds the state of a job from its request alone. It equals the first state that the scheduler will save.
func begun(e *events.Event, r *events.Request) (*Job, error) {
	text, err := json.Marshal(map[string]any{
		"id": e.Job, "status": events.Created, "goal": r.Goal, "profile": r.Profile, "session": r.Session, "user": r.User,
		"labels": r.Labels, "seq": e.Seq, "created": e.Time, "changed": e.Time,
	})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", e.Job, err)
	}
	return decodeJob(bus.Entry{Key: e.Job, Value: text, Time: e.Time})
}

// IDs returns the ids of all jobs with a saved state, sorted.
func (c *Client) IDs(ctx context.Context) ([]string, error) {
	keys, err := c.bus.State().Keys(ctx)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, ".") })
	slices.Sort(keys)
	return keys, nil
}

// List returns the announced cards, sorted by id.
func (x Experts) List(ctx context.Context) ([]events.Card, error) {
	entries, err := x.client.bus.Experts().List(ctx)
	if err != nil {
		return nil, err
	}
	cards := make([]events.Card, 0, len(entries))
	for _, e := range entries {
		var card events.Card
		if json.Unmarshal(e.Value, &card) == nil {
			cards = append(cards, card)
		}
	}
	slices.SortFunc(cards, func(a, b events.Card) int { return strings.Compare(a.ID, b.ID) })
	return cards, nil
}
