package joblog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Fork says what the new job does differently from the original. The zero value keeps every result and runs the rest.
type Fork struct {
	// ID is the id of the new job.
	ID string
	// Before is the SubJob to rerun, with everything that depends on it; all other results are kept. If it is empty, all
	// results are kept and no other field may be set.
	Before string
	// Model is the model of all experts that run. Expert executes Before; Prompt is its goal.
	Model, Expert, Prompt string
	// Result is the result of Before, which then does not run; Expert and Prompt have no effect.
	Result json.RawMessage
}

// Forked is the request for a job that starts from the state of another.
type Forked struct {
	// Request is for the new job. Its plan is the graph as it stood, with the results that are kept. Its labels forked_from and
	// forked_at say where it comes from, unless the job already has as many labels as it may have.
	Request events.Request
	// From is the original job, At the sequence of the last event that counted.
	From string
	At   uint64
	// Kept is how many of Total SubJobs keep their result. Both are 0 if there was no plan yet: then the new job plans by
	// itself.
	Kept, Total int
	// Payloads are those of From that Request refers to. They must be stored under the new job's id before it is submitted.
	Payloads []events.Ref
}

// Fork builds the request for a job that starts where the log ends. It reads results by reference if conditions of SubJobs
// that still have to run use them. Errors: *events.Fault for a Fork that does not fit the job, with CodeNotFound for an
// unknown SubJob, or for a condition that cannot be kept; those of get.
func (l *Log) Fork(fork Fork, get Payloads) (*Forked, error) {
	s := l.Job.View()
	if err := fork.check(s); err != nil {
		return nil, err
	}
	f := forker{log: l, get: get, fork: &fork, state: s, names: forkNames(s), again: fork.again(s), made: &Forked{From: s.ID, At: s.Seq}}
	r := l.Request().Request
	r.ID = fork.ID
	r.Labels = labelled(r.Labels, s)
	if fork.Model != "" {
		r.Models = with(r.Models, "expert", fork.Model)
	}
	plan, err := f.plan()
	if err == nil && plan != nil {
		r.PlanRef = nil
		r.Plan, err = json.Marshal(plan)
	}
	if err != nil {
		return nil, err
	}
	for _, ref := range []*events.Ref{r.PlanRef, r.InputsRef} {
		if ref != nil {
			f.take(*ref)
		}
	}
	f.take(r.Attachments...)
	f.made.Request = r
	return f.made, nil
}

// labelled adds to labels where the fork comes from. If there is not enough room, it leaves out forked_at, then forked_from.
func labelled(labels map[string]string, s *graph.State) map[string]string {
	for _, l := range []struct{ key, value string }{{"forked_from", s.ID}, {"forked_at", fmt.Sprint(s.Seq)}} {
		if _, known := labels[l.key]; known || len(labels) < events.MaxLabels {
			labels = with(labels, l.key, l.value)
		}
	}
	return labels
}

// with returns a copy of a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// check returns what is wrong with a fork of a job.
func (f *Fork) check(s *graph.State) error {
	varied := f.Expert != "" || f.Prompt != ""
	switch {
	case f.Before == "" && (varied || f.Model != "" || f.Result != nil):
		return &events.Fault{
			Code: events.CodeMissing, Field: "before", Message: "model, expert, prompt and result say what one SubJob does otherwise", Hint: "name it in Before",
		}
	case f.Result != nil && varied:
		return &events.Fault{
			Code: events.CodeInvalid, Field: "result", Message: fmt.Sprintf("SubJob %s does not run when its result is given", f.Before), Hint: "leave expert and prompt out",
		}
	case f.Before != "" && s.PlanVersion == 0:
		return &events.Fault{
			Code: events.CodeNotFound, Field: "subjob", Message: fmt.Sprintf("job %s has no graph yet at sequence %d, so no SubJob %.80q", s.ID, s.Seq, f.Before),
			Hint: "fork at graph.created or later: jobgraph events " + s.ID,
		}
	case f.Before != "" && !slices.ContainsFunc(s.SubJobs, func(n *graph.SubJobState) bool { return n.ID == f.Before && InGraph(n) }):
		return &events.Fault{
			Code: events.CodeNotFound, Field: "subjob", Message: fmt.Sprintf("job %s has no SubJob %.80q", s.ID, f.Before), Hint: "jobgraph get " + s.ID,
		}
	}
	return nil
}

// again returns the SubJobs that must rerun: the changed one and all that depend on it.
func (f *Fork) again(s *graph.State) map[string]bool {
	found := map[string]bool{}
	if f.Before == "" {
		return found
	}
	found[f.Before] = true
	for grown := true; grown; { // Predecessors may come later in the list.
		grown = false
		for _, n := range s.SubJobs {
			behind := slices.ContainsFunc(n.Deps, func(at int32) bool { return found[s.SubJobs[at].ID] })
			if behind && !found[n.ID] {
				found[n.ID], grown = true, true
			}
		}
	}
	return found
}

// vary changes the SubJob before which the fork begins. It reports whether the change supplies its result.
func (f *Fork) vary(sub *events.SubJob) bool {
	if f.Expert != "" {
		sub.Expert = f.Expert
	}
	if f.Prompt != "" {
		sub.Goal = f.Prompt
	}
	if f.Result != nil {
		sub.When, sub.Schedule, sub.ExecutionRes = "", nil, f.Result
	}
	return f.Result != nil
}

// InGraph reports whether a SubJob belongs to the present graph: not planning, not finalisation, and not split or replaced.
func InGraph(n *graph.SubJobState) bool {
	return n.ID != events.PlanID && n.ID != events.FinalID && n.Status != events.Legacy
}

// forker builds the plan of the new job.
type forker struct {
	log   *Log
	get   Payloads
	fork  *Fork
	state *graph.State
	// names are the ids in the new plan; again are the SubJobs whose results are not kept.
	names map[string]string
	again map[string]bool
	made  *Forked
}

// plan returns the graph with the results of finished SubJobs; nil if there was none yet.
func (f *forker) plan() (*events.Plan, error) {
	if f.state.PlanVersion == 0 {
		return nil, nil
	}
	p := &events.Plan{Title: f.state.Title}
	read := map[string]bool{} // The SubJobs whose results conditions of unfinished SubJobs read.
	for _, n := range f.state.SubJobs {
		if InGraph(n) && n.When != "" && !f.finished(n) {
			for _, at := range n.Deps {
				read[f.state.SubJobs[at].ID] = true
			}
		}
	}
	for _, n := range f.state.SubJobs {
		if !InGraph(n) {
			continue
		}
		sub, err := f.subjob(n, read[n.ID])
		if err != nil {
			return nil, err
		}
		p.SubJobs = append(p.SubJobs, sub)
	}
	return p, nil
}

// subjob returns one SubJob of the new plan; inline is true if its result must be inside the plan itself.
func (f *forker) subjob(n *graph.SubJobState, inline bool) (sub events.SubJob, err error) {
	sub, _ = f.log.Text(n.Spec)
	sub.ID, sub.Name, sub.Dependencies = f.names[n.ID], "", predecessors(f.state, n, f.names)
	sub.Expert, sub.Pool, sub.Pure, sub.ExpertName = n.Expert, "", false, ""
	f.made.Total++
	switch {
	case n.ID == f.fork.Before && f.fork.vary(&sub):
		f.made.Kept++
	case f.finished(n):
		f.made.Kept++
		err = f.keep(n, &sub, inline)
	case sub.When != "":
		sub.When, err = f.condition(n, sub.When)
	}
	return sub, err
}

// predecessors returns the direct predecessors of a SubJob under their new names, in order.
func predecessors(s *graph.State, n *graph.SubJobState, names map[string]string) []string {
	var list []string
	for _, at := range n.Deps {
		if d := s.SubJobs[at]; InGraph(d) {
			list = append(list, names[d.ID])
		}
	}
	return list
}

// finished reports whether the new job takes the result of a node.
func (f *forker) finished(n *graph.SubJobState) bool {
	return n.Status == events.Finished && !f.again[n.ID]
}

// keep copies a result; a skipped SubJob gets an empty one, so that it is not evaluated again.
func (f *forker) keep(n *graph.SubJobState, sub *events.SubJob, inline bool) error {
	result := f.log.Result(n)
	sub.When, sub.Schedule = "", nil
	sub.ExecutionRes, sub.ExecutionRef, sub.Artifacts = result.Output, result.Ref, result.Artifacts
	f.take(result.Artifacts...)
	if result.Ref != nil && inline {
		data, err := f.get(*result.Ref)
		if err != nil {
			return err
		}
		sub.ExecutionRes, sub.ExecutionRef = data, nil
	}
	if sub.ExecutionRef != nil {
		f.take(*sub.ExecutionRef)
	} else if len(sub.ExecutionRes) == 0 || string(sub.ExecutionRes) == "null" {
		sub.ExecutionRes = json.RawMessage(`""`) // In a plan null means no result; conditions read nothing from either.
	}
	return nil
}

// take records payloads that the new job needs.
func (f *forker) take(refs ...events.Ref) {
	for _, ref := range refs {
		if !slices.ContainsFunc(f.made.Payloads, func(have events.Ref) bool { return have.Digest == ref.Digest }) {
			f.made.Payloads = append(f.made.Payloads, ref)
		}
	}
}

// forkNames assigns valid plan ids to nodes from a split, whose own ids plans may not use.
func forkNames(s *graph.State) map[string]string {
	taken := map[string]bool{}
	for _, n := range s.SubJobs {
		taken[n.ID] = true
	}
	names := map[string]string{}
	for _, n := range s.SubJobs {
		name := n.ID
		if strings.Contains(name, "~") && InGraph(n) {
			base := strings.ReplaceAll(name, "~", "-")
			if len(base) > events.MaxID-6 {
				base = base[:events.MaxID-6]
			}
			name = base
			for i := 2; taken[name]; i++ {
				name = fmt.Sprintf("%s-%d", base, i)
			}
			taken[name] = true
		}
		names[n.ID] = name
	}
	return names
}
