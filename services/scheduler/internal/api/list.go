package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// mostListed is how many jobs or requests an answer holds by default.
const mostListed = 500

// line is a job in a list.
type line struct {
	ID          string            `json:"id"`
	Status      events.Status     `json:"status"`
	Goal        string            `json:"goal,omitempty"`
	Title       string            `json:"title,omitempty"`
	Session     string            `json:"session,omitempty"`
	User        string            `json:"user,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Created     time.Time         `json:"created,omitzero"`
	Changed     time.Time         `json:"changed,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Progress    json.RawMessage   `json:"progress,omitempty"`
	Outcome     string            `json:"outcome,omitempty"`
	Quarantined *events.Fault     `json:"quarantined,omitempty"`
}

// selection says which jobs.
type selection struct {
	// Labels must all be present with these values; State, Session and User must match, if given.
	Labels  map[string]string `json:"labels"`
	State   events.Status     `json:"state"`
	Session string            `json:"session"`
	User    string            `json:"user"`
	// Offset skips the newest jobs; Limit bounds the answer, mostListed if 0.
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

func (s *selection) wants(l *line) bool {
	for name, value := range s.Labels {
		if have, ok := l.Labels[name]; !ok || have != value {
			return false
		}
	}
	return (s.State == "" || strings.EqualFold(string(s.State), string(l.Status))) && (s.Session == "" || s.Session == l.Session) && (s.User == "" || s.User == l.User)
}

// list shows jobs by their saved states, newest first.
func (v *API) list(ctx context.Context, body []byte) (any, error) {
	var s selection
	if len(body) > 0 {
		if err := decode(body, &s); err != nil {
			return nil, err
		}
	}
	entries, err := v.bus.State().List(ctx)
	if err != nil {
		return nil, err
	}
	lines := []line{}
	for i := range entries {
		var l line
		if strings.Contains(entries[i].Key, ".") || json.Unmarshal(entries[i].Value, &l) != nil {
			continue // A chunk of a large state, or a foreign key.
		}
		if s.wants(&l) {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	if s.Limit <= 0 {
		s.Limit = mostListed
	}
	page := lines[min(max(0, s.Offset), len(lines)):]
	return map[string]any{"jobs": page[:min(len(page), s.Limit)], "total": len(lines)}, nil
}

// node is a SubJob in a picture of the graph.
type node struct {
	ID     string        `json:"id"`
	Status events.Status `json:"status"`
	Title  string        `json:"title,omitempty"`
	Expert string        `json:"expert,omitempty"`
	Run    int           `json:"run,omitempty"`
	Deps   []string      `json:"dependencies,omitempty"`
}

// graph shows nodes and edges by their ids, planning and finalising left out.
func (v *API) graph(ctx context.Context, body []byte) (any, error) {
	var r ref
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	job, err := v.fold(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	state := job.View()
	nodes := make([]node, 0, len(state.SubJobs))
	for _, s := range state.SubJobs {
		if s.ID == events.PlanID || s.ID == events.FinalID {
			continue
		}
		n := node{ID: s.ID, Status: s.Status, Title: s.Title, Expert: s.Expert, Run: s.Run}
		for _, at := range s.Deps {
			n.Deps = append(n.Deps, state.SubJobs[at].ID)
		}
		nodes = append(nodes, n)
	}
	return map[string]any{"job_id": r.ID, "status": state.Status, "plan_version": state.PlanVersion, "subjobs": nodes}, nil
}

// question is an open request for input.
type question struct {
	JobID   string           `json:"job_id"`
	Request string           `json:"request"`
	SubJob  string           `json:"subjob"`
	Kind    events.InputKind `json:"kind"`
	Prompt  string           `json:"prompt,omitempty"`
	Options []string         `json:"options,omitempty"`
	Schema  json.RawMessage  `json:"schema,omitempty"`
	User    string           `json:"user,omitempty"`
	Expires time.Time        `json:"expires,omitzero"`
}

// inputs shows the open requests for input, of one job or of all.
func (v *API) inputs(ctx context.Context, body []byte) (any, error) {
	var r ref
	if len(body) > 0 {
		if err := decode(body, &r); err != nil {
			return nil, err
		}
	}
	jobs := []string{r.ID}
	if r.ID == "" {
		var err error
		if jobs, err = v.asking(ctx); err != nil {
			return nil, err
		}
	}
	questions := []question{}
	for _, id := range jobs {
		open, err := v.questions(ctx, id)
		if err != nil && r.ID != "" {
			return nil, err
		}
		questions = append(questions, open...)
	}
	return map[string]any{"inputs": questions}, nil
}

// asking lists the jobs whose saved state has an open request.
func (v *API) asking(ctx context.Context) ([]string, error) {
	entries, err := v.bus.State().List(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []string
	for i := range entries {
		var state struct {
			ID     string            `json:"id"`
			Inputs []json.RawMessage `json:"inputs"`
		}
		if !strings.Contains(entries[i].Key, ".") && json.Unmarshal(entries[i].Value, &state) == nil && len(state.Inputs) > 0 && len(jobs) < mostListed {
			jobs = append(jobs, state.ID)
		}
	}
	slices.Sort(jobs)
	return jobs, nil
}

func (v *API) questions(ctx context.Context, id string) ([]question, error) {
	job, err := v.fold(ctx, id)
	if err != nil {
		return nil, err
	}
	var open []question
	for _, in := range job.Inputs {
		q := question{JobID: id, Request: in.Request, SubJob: in.SubJob, Kind: in.Kind, User: in.User, Expires: in.Expires}
		e, err := v.bus.Log().EventAt(ctx, in.Seq)
		if err != nil {
			return nil, err
		}
		if asked, ok := e.Data.(*events.InputRequested); ok {
			q.Prompt, q.Options, q.Schema = asked.Prompt, asked.Options, asked.Schema
		}
		open = append(open, q)
	}
	return open, nil
}
