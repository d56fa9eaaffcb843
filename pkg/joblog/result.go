package joblog

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Result is what a SubJob handed over.
type Result struct {
	// Output is its result inline, Ref by reference; both are nil when there is none.
	Output json.RawMessage
	Ref    *events.Ref
	// Artifacts are the files of the result.
	Artifacts []events.Ref
}

// Artifact is a file that a SubJob has handed over.
type Artifact struct {
	// SubJob and Run have made it; Run is 0 for one that came with the plan.
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	events.Ref
}

// Result is what a SubJob handed over, as it stands; nothing when it was skipped.
func (l *Log) Result(n *graph.SubJobState) Result {
	in := graph.Input{Seq: n.ResultSeq, Skipped: n.Skipped}
	if n.Given {
		in.Spec = n.Spec
	}
	return l.Input(in)
}

// Input is what a result holds that a run gets, or that the job's is made of.
func (l *Log) Input(in graph.Input) Result {
	if in.Skipped {
		return Result{}
	}
	if in.Spec.Seq != 0 {
		s, _ := l.Text(in.Spec)
		return Result{s.ExecutionRes, s.ExecutionRef, s.Artifacts}
	}
	e := l.At(in.Seq)
	if e == nil {
		return Result{}
	}
	if answer, ok := e.Data.(*events.JobAnswered); ok {
		return Result{Output: answer.Answer}
	}
	report := e.Report()
	return Result{report.Output, report.OutputRef, report.Artifacts}
}

// Artifacts are the files of the results as they stand, in the order of the graph; of one SubJob, or of all when it is empty.
func (l *Log) Artifacts(subjob string) []Artifact {
	var list []Artifact
	for _, n := range l.Job.View().SubJobs {
		if subjob != "" && n.ID != subjob || subjob == "" && n.ID == events.FinalID {
			continue // What ends a job hands on the files of others.
		}
		for _, ref := range l.Result(n).Artifacts {
			list = append(list, Artifact{SubJob: n.ID, Run: n.ResultRun, Ref: ref})
		}
	}
	return list
}

// JobArtifacts are the artifacts of the job's result, named SUBJOB/NAME, when it has ended.
func (l *Log) JobArtifacts() []events.Ref {
	for i := len(l.Events) - 1; i >= 0; i-- {
		if end, ok := l.Events[i].Data.(*events.JobEnded); ok {
			return end.Artifacts
		}
	}
	return nil
}

// Answer is the result of a job: inline, else what get reads by its reference, which is given as a text when it is no JSON. It is nil
// when there is none, or when get leaves it out. Errors: those of get.
func Answer(inline json.RawMessage, ref *events.Ref, get Payloads) (json.RawMessage, error) {
	if ref == nil || len(inline) > 0 {
		return inline, nil
	}
	data, err := get(*ref)
	if err != nil || data == nil || json.Valid(data) {
		return data, err
	}
	return json.Marshal(string(data))
}

// Partial reports whether a job that has ended gives less than a result: what those of its SubJobs gave that had finished.
func Partial(s *graph.State) bool {
	return (len(s.Result) > 0 || s.ResultRef != nil) && s.Status.Terminal() && s.Status != events.Finished
}

// Cost is what was spent, in tokens and US dollars; nothing is written as zeros.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}
