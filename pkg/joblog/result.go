package joblog

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Result is the result of a SubJob, inline or by reference.
type Result struct {
	// Output is its output inline, Ref by reference; both are nil if there is none.
	Output json.RawMessage
	Ref    *events.Ref
	// Artifacts are the files of the result.
	Artifacts []events.Ref
}

// Artifact is a file of a SubJob's result.
type Artifact struct {
	// SubJob and Run made it; Run is 0 if it came with the plan.
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	events.Ref
}

// Result returns the present result of a SubJob; empty if it was skipped.
func (l *Log) Result(n *graph.SubJobState) Result {
	in := graph.Input{Seq: n.ResultSeq, Skipped: n.Skipped}
	if n.Given {
		in.Spec = n.Spec
	}
	return l.Input(in)
}

// Input returns the result behind an input of a run or of the job's result.
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

// Artifacts returns the files of the present results, in the order of the graph: of one SubJob, or of all if subjob is
// empty.
func (l *Log) Artifacts(subjob string) []Artifact {
	var list []Artifact
	for _, n := range l.Job.View().SubJobs {
		if subjob != "" && n.ID != subjob || subjob == "" && n.ID == events.FinalID {
			continue // Finalisation only passes on the files of others.
		}
		for _, ref := range l.Result(n).Artifacts {
			list = append(list, Artifact{SubJob: n.ID, Run: n.ResultRun, Ref: ref})
		}
	}
	return list
}

// JobArtifacts returns the files of an ended job's result, named SUBJOB/NAME.
func (l *Log) JobArtifacts() []events.Ref {
	for i := len(l.Events) - 1; i >= 0; i-- {
		if end, ok := l.Events[i].Data.(*events.JobEnded); ok {
			return end.Artifacts
		}
	}
	return nil
}

// Answer returns the result of a job: inline, else what get reads, as a string if it is not JSON. It is nil if there is
// none, or if get leaves it out. Errors: those of get.
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

// Partial reports whether an ended job has no result but only results of those SubJobs that finished.
func Partial(s *graph.State) bool {
	return (len(s.Result) > 0 || s.ResultRef != nil) && s.Status.Terminal() && s.Status != events.Finished
}

// Cost is the cost in tokens and US dollars; zeros are written too.
type Cost struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}
