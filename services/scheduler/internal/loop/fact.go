package loop

import (
	"container/list"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// fact is an event of the log that later work may refer to.
type fact struct {
	key  string
	data any
	// trace is the traceparent of the event's message.
	trace string
	// plan finds the SubJobs of a plan by their ids in it.
	plan map[string]*events.SubJob
	size int
	seq  uint64
}

// facts is a cache of events by sequence, limited in bytes, with least-recently-used eviction. A sequence is used once per stream,
// so entries never become stale.
type facts struct {
	*env
	size  int
	bySeq map[uint64]*list.Element
	// recent are the facts, most recently used first.
	recent list.List
}

func newFacts(e *env) *facts { return &facts{env: e, bySeq: map[uint64]*list.Element{}} }

func (c *facts) get(seq uint64) *fact {
	at := c.bySeq[seq]
	if at == nil {
		return nil
	}
	c.recent.MoveToFront(at)
	return factAt(at)
}

// factAt returns the fact of an entry: the list has nothing else.
func factAt(at *list.Element) *fact {
	f, _ := at.Value.(*fact)
	return f
}

// keep stores an event if work can refer to it.
func (c *facts) keep(e *events.Event) *fact {
	f := newFact(e)
	if f != nil {
		c.add(f)
	}
	return f
}

// add puts a fact into the cache, and evicts the least recently used ones beyond the limit.
func (c *facts) add(f *fact) {
	c.drop(c.bySeq[f.seq])
	c.bySeq[f.seq] = c.recent.PushFront(f)
	c.size += f.size
	for c.size > c.CacheBytes && c.recent.Len() > 1 {
		c.drop(c.recent.Back())
	}
}

// forget removes events that no work will refer to any more.
func (c *facts) forget(seqs []uint64) {
	for _, seq := range seqs {
		c.drop(c.bySeq[seq])
	}
}

// drop removes an entry; nil has no effect.
func (c *facts) drop(at *list.Element) {
	if at == nil {
		return
	}
	f := factAt(at)
	c.recent.Remove(at)
	c.size -= f.size
	delete(c.bySeq, f.seq)
}

// newFact extracts what work can refer to; nil for other kinds.
func newFact(e *events.Event) *fact {
	f := &fact{key: e.Key, seq: e.Seq, data: e.Data, trace: e.Trace, size: 256}
	switch d := e.Data.(type) {
	case *events.JobRequested:
		r := &d.Request
		f.size += 1024 + len(r.Goal) + len(r.Context) + len(r.Plan) + len(d.History)
		for name, input := range r.Inputs {
			f.size += 64 + len(name) + len(input)
		}
	case *events.GraphCreated:
		f.index(d.Plan)
	case *events.PlanEdited:
		f.index(d.Plan)
	case *events.JobAnswered:
		f.size += len(d.Answer)
	case *events.InputClosed:
		f.size += len(d.Answer)
	case *events.RerunRequested:
		f.size += len(d.Edit)
	case *events.PlanRejected, *events.InputRequested:
		f.size += 512
	case *events.TimerFired: // The run after a timeout gets this event as a lesson.
	case *events.SubJobReported:
		f.size += len(d.Output) + len(d.Lesson)
	default:
		switch {
		case e.Kind == events.KindSubJobReported:
			r := e.Report()
			f.data, f.size = r, f.size+len(r.Output)+len(r.Lesson)
		case e.Fault != nil && closes(e.Kind):
			f.data, f.size = e.Fault, f.size+len(e.Fault.Cause)
		default:
			return nil
		}
	}
	return f
}

// closes reports whether a kind other than the report ends a run. An unreadable event ends it as well, and is a lesson for the
// next run.
func closes(k events.Kind) bool {
	switch k {
	case events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered, events.KindInputRequested:
		return true
	}
	return false
}

func (f *fact) index(p *events.Plan) {
	if p == nil {
		return
	}
	f.plan = make(map[string]*events.SubJob, len(p.SubJobs))
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		f.plan[s.ID] = s
		f.size += 512 + len(s.Goal) + len(s.Context) + len(s.CompletionCriteria) + len(s.ExecutionRes) + 24*len(s.Dependencies)
	}
}
