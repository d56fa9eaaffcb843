package history

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Artifact is a file that a SubJob has handed over.
type Artifact struct {
	// SubJob and Run have made it; Run is 0 for one that came with the plan.
	SubJob string `json:"subjob"`
	Run    int    `json:"run"`
	events.Ref
}

// Belongings are the artifacts of the job's result, named SUBJOB/NAME, when it has ended.
func (h *History) Belongings() []events.Ref {
	for i := len(h.Events) - 1; i >= 0; i-- {
		if end, ok := h.Events[i].Data.(*events.JobEnded); ok {
			return end.Artifacts
		}
	}
	return nil
}

// Artifacts are the files of the results as they stand, in the order of the graph; of one SubJob, or of all when it is empty.
func (h *History) Artifacts(subjob string) []Artifact {
	var list []Artifact
	for _, n := range h.Job.View().SubJobs {
		if subjob != "" && n.ID != subjob || subjob == "" && n.ID == events.FinalID {
			continue // What ends a job hands on the files of others.
		}
		for _, ref := range h.files(n) {
			list = append(list, Artifact{SubJob: n.ID, Run: n.ResultRun, Ref: ref})
		}
	}
	return list
}

// files are the artifacts of a SubJob's result, from its report or from the plan that it came with.
func (h *History) files(n *graph.SubJobState) []events.Ref {
	if n.Skipped {
		return nil
	}
	if n.Given {
		text, _ := h.Text(n.Spec)
		return text.Artifacts
	}
	if e := h.At(n.ResultSeq); e != nil && e.Kind == events.KindSubJobReported {
		return e.Report().Artifacts
	}
	return nil
}
