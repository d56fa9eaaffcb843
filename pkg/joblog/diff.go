package joblog

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Account summarises a job.
type Account struct {
	// JobID and Status are those of the job. DurationMS is the time from its admission to its end, in milliseconds; 0 if it
	// has not ended.
	JobID      string        `json:"job_id"`
	Status     events.Status `json:"status"`
	DurationMS int64         `json:"duration_ms"`
	Cost
	// Result is the job's result; nil if it has none or it could not be read.
	Result json.RawMessage `json:"result,omitempty"`
	// Plan is the present graph; SubJobs summarises each of its nodes. Ids are those that a fork assigns, so that a job and
	// its fork have the same.
	Plan    *events.Plan              `json:"-"`
	SubJobs map[string]*SubJobAccount `json:"-"`
}

// SubJobAccount summarises one SubJob over all of its runs.
type SubJobAccount struct {
	Status events.Status `json:"status"`
	Expert string        `json:"expert,omitempty"`
	// Runs counts reports, Calls counts calls of models, tools and services. DurationMS is the total duration of the runs.
	Runs       int   `json:"runs"`
	Calls      int   `json:"calls"`
	DurationMS int64 `json:"duration_ms"`
	Cost
	// Given is true if the result came with the plan.
	Given bool `json:"given,omitempty"`
	// Result is the result; Ref refers to it if it is stored as a blob.
	Result json.RawMessage `json:"result,omitempty"`
	Ref    *events.Ref     `json:"-"`
}

// Duration returns the time from a job's admission to its end, in milliseconds; 0 if it has not ended.
func Duration(created, ended time.Time) int64 {
	if created.IsZero() || ended.IsZero() {
		return 0
	}
	return ended.Sub(created).Milliseconds()
}

// Account summarises the job. calls lists the calls in the journal of a SubJob. Errors: those of calls and get.
func (l *Log) Account(calls func(subjob string) ([]Call, error), get Payloads) (*Account, error) {
	s := l.Job.View()
	a := &Account{JobID: s.ID, Status: s.Status, DurationMS: Duration(s.Created, s.Ended), Cost: Cost(s.Cost), Plan: &events.Plan{}, SubJobs: map[string]*SubJobAccount{}}
	var err error
	if a.Result, err = Answer(s.Result, s.ResultRef, get); err != nil {
		return nil, err
	}
	names := forkNames(s)
	for _, n := range s.SubJobs {
		if !InGraph(n) {
			continue
		}
		list, err := calls(n.ID)
		if err != nil {
			return nil, err
		}
		text, _ := l.Text(n.Spec)
		a.Plan.SubJobs = append(a.Plan.SubJobs, events.SubJob{
			ID: names[n.ID], Goal: text.Goal, Context: text.Context, CompletionCriteria: text.CompletionCriteria, Expert: n.Expert, When: text.When,
			Dependencies: predecessors(s, n, names),
		})
		result := l.Result(n)
		a.SubJobs[names[n.ID]] = &SubJobAccount{
			Status: n.Status, Expert: n.Expert, Calls: len(list), Given: n.Run == 0 && n.Status == events.Finished, Result: result.Output, Ref: result.Ref,
		}
	}
	for i := range l.Events {
		r, ok := l.Events[i].Data.(*events.SubJobReported)
		if x := a.SubJobs[names[l.Events[i].SubJob]]; ok && x != nil {
			x.Runs++
			x.DurationMS += r.DurationMS
			x.Tokens += r.Tokens
			x.CostUSD += r.CostUSD
		}
	}
	return a, nil
}

// Comparison lists the differences between two jobs.
type Comparison struct {
	A *Account `json:"a"`
	B *Account `json:"b"`
	// Plan holds the changes from the graph of A to that of B.
	Plan PlanDifference `json:"plan"`
	// SubJobs are those that differ, in the order of A, then of B.
	SubJobs []Deviation `json:"subjobs"`
}

// Deviation is a SubJob that differs between two jobs; a job that does not have it has null.
type Deviation struct {
	SubJob string         `json:"subjob"`
	A      *SubJobAccount `json:"a"`
	B      *SubJobAccount `json:"b"`
	// Fields names what differs: presence, status, expert, runs, calls, tokens, result. Times always differ and are
	// ignored.
	Fields []string `json:"fields"`
}

// Compare lists the differences between two jobs.
func Compare(a, b *Account) *Comparison {
	d := &Comparison{A: a, B: b, Plan: DiffPlans(a.Plan, b.Plan), SubJobs: []Deviation{}}
	known := map[string]bool{}
	for _, s := range slices.Concat(a.Plan.SubJobs, b.Plan.SubJobs) {
		if fields := differing(a.SubJobs[s.ID], b.SubJobs[s.ID]); !known[s.ID] && len(fields) > 0 {
			d.SubJobs = append(d.SubJobs, Deviation{s.ID, a.SubJobs[s.ID], b.SubJobs[s.ID], fields})
		}
		known[s.ID] = true
	}
	return d
}

// Same reports whether both jobs had the same plan, and the same results by the same means. Times do not count.
func (d *Comparison) Same() bool {
	return d.Plan.Empty() && len(d.SubJobs) == 0 && d.A.Status == d.B.Status && same(d.A.Result, d.B.Result)
}

// differing names what differs between two accounts; both may be nil.
func differing(a, b *SubJobAccount) (fields []string) {
	if a == nil || b == nil {
		return []string{"presence"}
	}
	given := a.Given || b.Given
	for _, f := range []struct {
		name string
		same bool
	}{
		{"status", a.Status == b.Status},
		{"expert", a.Expert == b.Expert},
		{"runs", given || a.Runs == b.Runs},
		{"calls", given || a.Calls == b.Calls},
		{"tokens", given || a.Tokens == b.Tokens},
		{"result", digest(a.Ref) == digest(b.Ref) && same(a.Result, b.Result)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func digest(ref *events.Ref) string {
	if ref == nil {
		return ""
	}
	return ref.Digest
}

// same compares two JSON values, ignoring white space.
func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
