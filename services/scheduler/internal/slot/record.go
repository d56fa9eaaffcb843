package slot

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// mostJobs bounds the jobs of one record. One beyond it has no place in the order until it asks again.
const mostJobs = 1000

// record is who has the slots of a key, and who waits.
type record struct {
	// Turn is the last that somebody had. A group's first job in wait has the turn behind it, its next one the one behind that:
	// so groups that wait for the same take turns.
	Turn int `json:"turn"`
	// Jobs are in the order in which they came.
	Jobs []*entry `json:"jobs"`
}

// entry is one job.
type entry struct {
	Job      string `json:"job"`
	Group    string `json:"group,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Limit is how many slots the job says that the key has.
	Limit int `json:"limit"`
	// Held are the runs that have a slot, Wants those that wait for one: "<subjob>/<run>".
	Held  []string `json:"held,omitempty"`
	Wants []string `json:"wants,omitempty"`
	// Turn is when it is the job's, while it waits.
	Turn int `json:"turn,omitempty"`
	// Called is true from when it was given a slot until it has asked again.
	Called bool `json:"called,omitempty"`
}

func read(value []byte) *record {
	r := &record{}
	if json.Unmarshal(value, r) != nil {
		return &record{} // Nothing of ours: what is live is said again.
	}
	return r
}

func (r *record) write() ([]byte, error) { return json.Marshal(r) }

func (r *record) find(job string) *entry {
	for _, e := range r.Jobs {
		if e.Job == job {
			return e
		}
	}
	return nil
}

// claim takes in what of a job is live, and gives away what is free. again is true when the job has waited for the same before.
func (r *record) claim(c *loop.Claim) (again bool) {
	e := r.find(c.Job)
	switch {
	case len(c.Runs) == 0:
		r.drop(c.Job)
		r.fill(c.Job)
		return false
	case e == nil && len(r.Jobs) >= mostJobs && !slices.ContainsFunc(c.Runs, func(run graph.Run) bool { return run.Begun }):
		return true
	case e == nil:
		e = &entry{Job: c.Job}
		r.Jobs = append(r.Jobs, e)
	}
	e.Group, e.Priority, e.Limit, e.Called = c.Group, c.Priority, c.Limit, false
	var held, wants []string
	for _, run := range c.Runs {
		name := name(run)
		if run.Begun || slices.Contains(e.Held, name) { // One that has begun has a slot, even one too many.
			held = append(held, name)
			continue
		}
		wants = append(wants, name)
	}
	again = slices.Equal(e.Wants, wants)
	e.Held, e.Wants = held, wants
	r.queue(e)
	r.fill(c.Job)
	return again
}

// queue gives a job that waits its turn, and takes it from one that does not.
func (r *record) queue(e *entry) {
	switch {
	case len(e.Wants) == 0:
		e.Turn = 0
	case e.Turn == 0:
		last := r.Turn
		for _, other := range r.Jobs {
			if other.Group == e.Group {
				last = max(last, other.Turn)
			}
		}
		e.Turn = last + 1
	}
}

// fill gives free slots to those whose turn it is: the highest priority, then the lowest turn, then who came first. Nobody
// overtakes a job to whose limit there are too many.
func (r *record) fill(caller string) {
	held := 0
	for _, e := range r.Jobs {
		held += len(e.Held)
	}
	for {
		var next *entry
		for _, e := range r.Jobs {
			if e.Turn > 0 && (next == nil || e.Priority > next.Priority || e.Priority == next.Priority && e.Turn < next.Turn) {
				next = e
			}
		}
		if next == nil || held >= next.Limit {
			return
		}
		held++
		next.Held, next.Wants = append(next.Held, next.Wants[0]), next.Wants[1:]
		r.Turn, next.Turn = max(r.Turn, next.Turn), 0
		r.queue(next)
		next.Called = next.Job != caller
	}
}

func (r *record) drop(job string) {
	r.Jobs = slices.DeleteFunc(r.Jobs, func(e *entry) bool { return e.Job == job })
}

// grant is what a job has to know of the record, after was called before.
func (r *record) grant(c *loop.Claim, was []string) loop.Grant {
	var g loop.Grant
	for _, e := range r.Jobs {
		if e.Called && (c.Anew || !slices.Contains(was, e.Job)) {
			g.Called = append(g.Called, e.Job)
		}
		if e.Job != c.Job {
			continue
		}
		for _, run := range c.Runs {
			if slices.Contains(e.Held, name(run)) {
				g.Held = append(g.Held, run)
			}
		}
	}
	return g
}

// called are the jobs that were given a slot and have not asked since.
func (r *record) called() []string {
	var jobs []string
	for _, e := range r.Jobs {
		if e.Called {
			jobs = append(jobs, e.Job)
		}
	}
	return jobs
}

func name(r graph.Run) string { return r.SubJob + "/" + strconv.Itoa(r.Run) }
