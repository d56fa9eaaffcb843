package semaphore

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Limits of a record: mostJobs jobs, and the size of a message. Waiting runs of a job are recorded up to mostBytes, of which
// mostWants stay once they are known to wait: a job that gets a slot claims again. Executing runs and runs with a slot are recorded
// up to fullBytes. Runs beyond these limits have no place in the order until their job claims again.
const (
	mostJobs  = 1000
	mostWants = 8
	mostBytes = bus.MaxMessage * 3 / 4
	fullBytes = bus.MaxMessage - 64
)

// mostGroup limits the name of a group, in bytes: a longer one is replaced by its digest.
const mostGroup = 128

// record says which runs hold the slots of a key, and which jobs wait.
type record struct {
	// Turn is the last turn that was used. The first waiting job of a group gets the next turn, its next job the one after that:
	// so waiting groups take turns.
	Turn int `json:"turn"`
	// Jobs are in the order in which they came.
	Jobs []*entry `json:"jobs"`
}

// entry is what a record stores of one job.
type entry struct {
	Job      string `json:"job"`
	Group    string `json:"group,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Limit is the number of slots of the key according to the job.
	Limit int `json:"limit"`
	// Held are the runs that have a slot, Wants the first of those that wait for one: "<subjob>/<run>".
	Held  []string `json:"held,omitempty"`
	Wants []string `json:"wants,omitempty"`
	// Turn is the job's place in the order, while it waits.
	Turn int `json:"turn,omitempty"`
	// Called is true from the time when the job was given a slot until it claims again.
	Called bool `json:"called,omitempty"`
}

func read(value []byte) *record {
	r := &record{}
	if json.Unmarshal(value, r) != nil {
		return &record{} // Not one of our records: the jobs claim their live runs again.
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

// claim records the live runs of a job, and grants free slots. again is true if the job has waited for the same before, or has no
// place.
func (r *record) claim(c *loop.Claim) (again bool) {
	e, known := r.find(c.Job), true
	if e == nil {
		e, known = &entry{Job: c.Job}, false
	}
	e.Group, e.Priority, e.Limit, e.Called = group(c.Group), c.Priority, c.Limit, false
	held, wants := r.part(e, c.Runs)
	if full := !known && len(r.Jobs) >= mostJobs; len(held) == 0 && (len(wants) == 0 || full) {
		r.drop(c.Job)
		r.fill(c.Job)
		return len(c.Runs) > 0
	}
	if !known {
		r.Jobs = append(r.Jobs, e)
	}
	again = slices.Equal(e.Wants, first(wants))
	e.Held, e.Wants = held, wants
	r.queue(e)
	r.fill(c.Job)
	e.Wants = first(e.Wants)
	return again
}

// part returns the runs of a job that have a slot and those that want one, as far as they fit.
func (r *record) part(e *entry, runs []graph.Run) (held, wants []string) {
	taken := e.frame()
	for _, other := range r.Jobs {
		if other != e {
			taken += other.weight()
		}
	}
	take := func(list []string, name string, room int) []string {
		if taken+weight(name) > room {
			return list
		}
		taken += weight(name)
		return append(list, name)
	}
	has := make(map[string]bool, len(e.Held))
	for _, name := range e.Held {
		has[name] = true
	}
	var open []string
	for _, run := range runs {
		name := name(run)
		if run.Begun || has[name] { // A run that has begun has a slot, even beyond the limit.
			held = take(held, name, fullBytes)
			continue
		}
		open = append(open, name)
	}
	for _, name := range open { // After all held runs: none of them loses its slot for lack of space.
		wants = take(wants, name, mostBytes)
	}
	return held, wants
}

// weight is the maximum size of a job in the record until it claims again: claims of others move runs and set marks.
func (e *entry) weight() int {
	n := e.frame()
	for _, name := range e.Held {
		n += weight(name)
	}
	for _, name := range e.Wants {
		n += weight(name)
	}
	return n
}

// weight is the size of a run; ids need no escapes.
func weight(name string) int { return len(name) + len(`"",`) }

// frame is the size of a job without its runs: all field names, the largest numbers, and the longest JSON of its group.
func (e *entry) frame() int {
	n := 136 + len(e.Job) + len(e.Group)
	for _, c := range []byte(e.Group) {
		if c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			n += len(`\u003c`) - 1
		}
	}
	return n
}

func first(wants []string) []string { return wants[:min(len(wants), mostWants)] }

func group(name string) string {
	if len(name) <= mostGroup {
		return name
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
}

// queue assigns a turn to a waiting job, and removes it from one that does not wait.
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

// fill grants free slots in order: highest priority, then lowest turn, then earliest. No job overtakes one whose limit is reached.
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

// grant returns what a job must know of the record. was is what called returned before the claim.
func (r *record) grant(c *loop.Claim, was []string) loop.Grant {
	var g loop.Grant
	for _, e := range r.Jobs {
		if e.Called && (c.Fresh || !slices.Contains(was, e.Job)) {
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

// called returns the jobs that were granted a slot and have not claimed since.
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
