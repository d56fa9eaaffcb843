package loop

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// cache owns the jobs in memory and moves them from phase to phase. It is bounded: jobs at rest are evicted when there are too
// many, and ended jobs at once.
type cache struct {
	*env
	facts *facts
	jobs  map[string]*job
	ended ended
}

func newCache(f *facts) *cache { return &cache{env: f.env, facts: f, jobs: map[string]*job{}} }

// get returns a job, in phase cold if it is not in memory.
func (c *cache) get(id string) *job {
	j := c.jobs[id]
	if j == nil {
		j = &job{id: id}
		c.jobs[id] = j
	}
	return j
}

// move brings a job into another phase. An illegal move is reported, and the job's state is dropped: it is loaded again when
// pending results have arrived.
func (c *cache) move(j *job, to phase) bool {
	if j.phase.may(to) {
		j.phase = to
		return true
	}
	illegal := &illegalMove{j.id, j.phase, to}
	if c.Illegal != nil {
		c.Illegal(illegal)
	}
	c.Logger.Error("reloading a job whose next state transition would be illegal", "job", j.id, "error", illegal,
		"hint", "please report it with `jobgraph export "+j.id+"`")
	c.drop(j)
	return false
}

// hold puts a state into memory: the first one, which is the fold of the whole log, or a newer one of j.
func (c *cache) hold(j *job, state *graph.Job) {
	if j.state != nil || !c.move(j, ready) {
		return
	}
	if j.state = state; j.basis != distrusted {
		j.basis = logBasis
	}
}

// doubt drops a job's state in memory, or the one being loaded, unless it contains the event with a sequence.
func (c *cache) doubt(j *job, seq uint64) {
	switch {
	case j.phase == loading:
		c.move(j, loadingStale)
	case j.state != nil && seq > j.state.Seq:
		c.drop(j)
	}
}

// settles reports whether an event is in the saved state of a job that ended recently and is no longer in memory.
func (c *cache) settles(e *events.Event) bool { return c.jobs[e.Job] == nil && c.ended.settles(e) }

// drop removes the state of a job, so that it is loaded again when it is needed.
func (c *cache) drop(j *job) {
	switch j.phase {
	case ready:
		c.move(j, cold)
	case inFlight:
		c.move(j, inFlightStale)
	case loading:
		c.move(j, loadingStale)
	}
	if j.basis != distrusted {
		j.basis = savedBasis
	}
	j.state, j.inbox, j.said, j.brief = nil, nil, nil, nil
	j.save.forget()
	j.slots = jobSlots{}
	j.limits.leave()
	j.reminder.armed = false // Another scheduler may have received the timer since.
}

// quarantine drops a job's state: the job must not be processed.
func (c *cache) quarantine(j *job) {
	c.drop(j)
	c.move(j, quarantined)
}

// readmit lets a quarantined job be loaded and processed again.
func (c *cache) readmit(j *job) { c.move(j, cold) }

// adopt takes over what was loaded of a job.
func (c *cache) adopt(j *job, r *loaded) {
	if j.basis = savedBasis; r.whole {
		j.basis = logBasis
	}
	j.changed = true
	j.save.adopt(r, c.now)
	j.said = r.said
	for _, f := range r.recalled {
		c.facts.add(f)
		j.facts = append(j.facts, f.seq)
	}
}

// loaded ends the loading of a job, and reports whether the loaded state can be used: it cannot if it may lack an event by now.
func (c *cache) loaded(j *job) bool {
	fresh := j.phase == loading
	return c.move(j, cold) && fresh
}

// distrust drops the state of a job, and makes the next load ignore the saved one.
func (c *cache) distrust(j *job) {
	c.drop(j)
	j.basis = distrusted
}

// acked makes a job ready whose commands were acknowledged, or cold if its state was dropped meanwhile.
func (c *cache) acked(j *job) {
	if j.phase == inFlightStale {
		c.move(j, cold)
		return
	}
	c.move(j, ready)
}

// dropAll drops every state: another scheduler may have received events.
func (c *cache) dropAll() {
	c.ended = ended{}
	for _, j := range c.jobs {
		c.drop(j)
		if !j.busy() && j.phase != quarantined {
			c.remove(j)
		}
	}
}

// remove forgets a job, so that its id is cold again.
func (c *cache) remove(j *job) {
	if c.move(j, gone) {
		j.limits.leave()
		delete(c.jobs, j.id)
	}
}

// evictEnded removes an ended job for which nothing more is expected, and reports whether it did.
func (c *cache) evictEnded(j *job) bool {
	if j.phase != ready || !j.over() || j.busy() || j.dirty {
		return false
	}
	c.ended.add(j.id, j.state.Seq)
	c.remove(j)
	c.facts.forget(j.facts)
	return true
}

// evict removes jobs that have been idle, once there are too many. The store has their states.
func (c *cache) evict() {
	if len(c.jobs) <= c.CacheJobs {
		return
	}
	looked := 0
	for _, j := range c.jobs {
		if looked++; looked > 16 {
			return // A few at a time: the random order of a map is good enough.
		}
		if !j.busy() && j.phase != quarantined && !j.dirty && c.now.Sub(j.used) > time.Minute {
			c.remove(j)
			c.facts.forget(j.facts)
		}
	}
}
