package slot

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

// A record has at most mostJobs, and is not larger than a message. Runs of a job that wait come into it up to mostBytes, of which
// mostWants stay when it is known that they wait: a job that gets a slot claims again. Those at work, or with a slot, come into it
// up to fullBytes. What does not fit has no place in the order until its job asks again.
const (
	mostJobs  = 1000
	mostWants = 8
	mostBytes = bus.MaxMessage * 3 / 4
	fullBytes = bus.MaxMessage - 64
)

// mostGroup bounds the name of a group, in bytes: a longer one goes by its digest.
const mostGroup = 128

// record is who has the slots of a key, and who waits.
type record struct {
	// Turn is the last that was used. A group's first job in wait has the turn behind it, its next one the one behind that:
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
	// Held are the runs that have a slot, Wants the first of those that wait for one: "<subjob>/<run>".
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

// claim takes in what of a job is live, and gives away what is free. again is true when the job has waited for the same before, or
// has no place.
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

// part gives those runs of a job that have a slot and those that want one, as far as there is room for them.
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
		if run.Begun || has[name] { // One that has begun has a slot, even one too many.
			held = take(held, name, fullBytes)
			continue
		}
		open = append(open, name)
	}
	for _, name := range open { // Behind all that are held: of those none gives up its slot for want of room.
		wants = take(wants, name, mostBytes)
	}
	return held, wants
}

// weight is the most that a job takes in the record until it asks again: what others do to it moves runs, and sets marks.
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

// weight is what a run takes; ids need no escapes.
func weight(name string) int { return len(name) + len(`"",`) }

// frame is what a job takes beside its runs: the names of all fields, with the largest numbers in them, and what JSON makes of the
// group at the worst.
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

// fill gives free slots to those whose turn it is: the highest priority, then the lowest turn, then the earliest. No job
// overtakes one whose limit is reached.
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
