package joblog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Pools maps the SubJobs of a job, by id, to the pools of their runs. With signers, the subject of a record in a journal names the
// pool of its writer, and records of pools that have none of the runs do not count.
type Pools map[string]*graph.SubJobState

// AnyPool stands for the pool of a SubJob whose records are shown for all pools.
const AnyPool = "*"

// Pools returns the pools of the job, as far as its log was folded.
func (l *Log) Pools() Pools {
	p := Pools{}
	if l != nil && l.Job != nil {
		for _, n := range l.Job.View().SubJobs {
			p[n.ID] = n
		}
	}
	return p
}

// SavedPools returns the pools of the job according to its saved state.
func SavedPools(state []byte) (Pools, error) {
	var saved struct {
		SubJobs []*graph.SubJobState `json:"subjobs"`
	}
	if err := json.Unmarshal(state, &saved); err != nil {
		return nil, err
	}
	p := Pools{}
	for _, n := range saved.SubJobs {
		p[n.ID] = n
	}
	return p, nil
}

// Consulted reports whether a SubJob is an expert consulted by a planning run; it is not in the graph.
func Consulted(subjob string) bool { return strings.HasPrefix(subjob, events.PlanID+"~") }

// Of returns the current pool of a SubJob, and those of its earlier runs. The pool is empty for the planner and for a SubJob that
// does not exist, and AnyPool for an expert consulted by a planning run.
func (p Pools) Of(subjob string) (pool string, former []events.Tenure) {
	n := p[subjob]
	switch {
	case Consulted(subjob):
		return AnyPool, nil
	case n == nil:
		return "", nil
	case n.Pool == events.PlannerPool:
		return "", n.Former
	}
	return n.Pool, n.Former
}

// OfRun returns the pool of a run; empty for the planner and for a SubJob that does not exist.
func (p Pools) OfRun(subjob string, run int) string {
	if n := p[subjob]; n != nil {
		return poolOf(n, run)
	}
	return ""
}

func poolOf(n *graph.SubJobState, run int) string {
	if pool := n.PoolOf(run); pool != events.PlannerPool {
		return pool
	}
	return ""
}

// Counts reports whether a record of a pool about a run counts; those without a pool always do.
func (p Pools) Counts(subjob, pool string, run int) bool {
	if pool == "" {
		return true
	}
	present, former := p.Of(subjob)
	return pool == present || present == AnyPool ||
		slices.ContainsFunc(former, func(t events.Tenure) bool { return t.Pool == pool && run <= t.Run })
}
