package joblog

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// SubJob is what a log contains about one SubJob.
type SubJob struct {
	// State is its state; Spec is its text as planned and edited.
	State *graph.SubJobState
	Spec  events.SubJob
	Result
	// Lessons are those of its runs so far, oldest first.
	Lessons []string
	// Calls are the calls of its runs. They come from its journal, not from the log.
	Calls []Call
}

// SubJob returns what the log contains about a SubJob, even one that is no longer part of the graph; nil if there never was
// one with that id.
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
