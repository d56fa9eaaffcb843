package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// mostListed is how many jobs or requests an answer holds by default.
const mostListed = 500

// selection says which jobs to list; words are those of Find, in lower case.
type selection struct {
	verb.JobQuery
	words []string
}

func (s *selection) wants(l *verb.JobLine) bool {
	for name, value := range s.Labels {
		if have, ok := l.Labels[name]; !ok || have != value {
			return false
		}
	}
	return s.finds(l) && !l.Changed.Before(s.Since) && (s.State == "" || strings.EqualFold(string(s.State), string(l.Status))) && (s.Session == "" || s.Session == l.Session) && (s.User == "" || s.User == l.User)
}

// finds reports whether a job has all words that are looked for.
func (s *selection) finds(l *verb.JobLine) bool {
	if len(s.words) == 0 {
		return true
	}
	text := []string{l.ID, l.Title, l.Goal, l.Session, l.User}
	for name, value := range l.Labels {
		text = append(text, name+"="+value)
	}
	all := strings.ToLower(strings.Join(text, "\n"))
	return !slices.ContainsFunc(s.words, func(word string) bool { return !strings.Contains(all, word) })
}

// list shows jobs by their saved states, newest first.
func (v *API) list(ctx context.Context, body []byte) (any, error) {
	var s selection
	if len(body) > 0 {
		if err := decode(body, &s.JobQuery); err != nil {
			return nil, err
		}
	}
	s.words = strings.Fields(strings.ToLower(s.Find))
	entries, err := v.bus.State().List(ctx)
	if err != nil {
		return nil, err
	}
	lines := []verb.JobLine{}
	for i := range entries {
		var l verb.JobLine
		if strings.Contains(entries[i].Key, ".") || json.Unmarshal(entries[i].Value, &l) != nil {
			continue // A chunk of a large state, or a foreign key.
		}
		if s.wants(&l) {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b verb.JobLine) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	if s.Limit <= 0 {
		s.Limit = mostListed
	}
	page := lines[min(max(0, s.Offset), len(lines)):]
	return verb.Jobs{Jobs: page[:min(len(page), s.Limit)], Total: len(lines)}, nil
}

// graph shows nodes and edges by their ids, planning and finalising left out.
func (v *API) graph(ctx context.Context, body []byte) (any, error) {
	var r verb.GraphQuery
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if r.At > 0 || r.Since > 0 {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "at", Message: "requests on the bus return only the current graph", Hint: "GET /api/v1/jobs/" + r.ID + "/graph?at=SEQ, or jobgraph.Logs().Fold in Go"}
	}
	job, err := v.fold(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	state := job.View()
	nodes := make([]verb.Node, 0, len(state.SubJobs))
	for _, s := range state.SubJobs {
		if s.ID == events.PlanID || s.ID == events.FinalID {
			continue
		}
		n := verb.Node{ID: s.ID, Status: s.Status, Title: s.Title, Expert: s.Expert, Run: s.Run}
		for _, at := range s.Deps {
			n.Deps = append(n.Deps, state.SubJobs[at].ID)
		}
		nodes = append(nodes, n)
	}
	return verb.Graph{JobID: r.ID, Status: state.Status, PlanVersion: state.PlanVersion, SubJobs: nodes}, nil
}

// inputs shows the open requests for input, of one job or of all.
func (v *API) inputs(ctx context.Context, body []byte) (any, error) {
	var r verb.OpenInputs
	if len(body) > 0 {
		if err := decode(body, &r); err != nil {
			return nil, err
		}
	}
	if r.ID == "" { // It reads every job that asks something.
		return v.allInputs.get(func() (any, error) { return v.inputsOfAll(ctx) })
	}
	open, err := v.questions(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return verb.Questions{Inputs: append([]verb.Question{}, open...)}, nil
}

// inputsOfAll shows the open requests of all jobs; a job that cannot be read is left out.
func (v *API) inputsOfAll(ctx context.Context) (any, error) {
	jobs, err := v.asking(ctx)
	if err != nil {
		return nil, err
	}
	questions := []verb.Question{}
	for _, id := range jobs {
		if open, err := v.questions(ctx, id); err == nil {
			questions = append(questions, open...)
		}
	}
	return verb.Questions{Inputs: questions}, nil
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

func (v *API) questions(ctx context.Context, id string) ([]verb.Question, error) {
	job, err := v.fold(ctx, id)
	if err != nil {
		return nil, err
	}
	var open []verb.Question
	for _, in := range job.Inputs {
		q := verb.Question{JobID: id, Request: in.Request, SubJob: in.SubJob, Kind: in.Kind, User: in.User, Expires: in.Expires}
		e, err := v.bus.Log().EventAt(ctx, in.Seq)
		if err != nil {
			return nil, err
		}
		if asked, ok := e.Data.(*events.InputRequested); ok {
			q.Prompt, q.Options, q.Schema, q.Open = asked.Prompt, asked.Options, asked.Schema, asked.Open
		}
		open = append(open, q)
	}
	return open, nil
}
