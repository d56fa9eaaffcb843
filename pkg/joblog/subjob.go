package joblog

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// SubJob is what a log has of one SubJob.
type SubJob struct {
	// State is where it stands, Spec its text as planned and edited.
	State *graph.SubJobState
	Spec  events.SubJob
	Result
	// Lessons are what its runs have learned so far, the oldest first.
	Lessons []string
	// Calls are what its runs have asked of models, tools and services. The log does not have them: they are read from its journal.
	Calls []Call
}

// SubJob is what the log has of a SubJob, also of one that is not part of the graph any more; nil when there never was one of that id.
func (l *Log) SubJob(id string) *SubJob {
	n := l.Node(id)
	if n == nil {
		return nil
	}
	s := &SubJob{State: n, Result: l.Result(n)}
	s.Spec, _ = l.Text(n.Spec)
	for _, seq := range n.Lessons {
		if e := l.At(seq); e != nil {
			s.Lessons = append(s.Lessons, e.Report().Lesson)
		}
	}
	return s
}
