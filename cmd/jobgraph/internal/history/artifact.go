package history

import "github.com/jobgraph/jobgraph/pkg/events"

// Artifact is a file that a SubJob has handed over.
type Artifact struct {
	// SubJob and Run have made it.
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
		if subjob != "" && n.ID != subjob || subjob == "" && n.ID == events.FinalID || n.Skipped || n.Given {
			continue // What ends a job hands on the files of others.
		}
		e := h.At(n.ResultSeq)
		if e == nil || e.Kind != events.KindSubJobReported {
			continue
		}
		for _, ref := range e.Report().Artifacts {
			list = append(list, Artifact{SubJob: n.ID, Run: n.ResultRun, Ref: ref})
		}
	}
	return list
}
