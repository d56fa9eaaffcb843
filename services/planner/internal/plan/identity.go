package plan

import (
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// maxGivenID is the longest id that a plan may give, in bytes. Ids longer than events.MaxID are mapped.
const maxGivenID = 1024

// register holds every id of a plan and the position of its step.
type register struct {
	given  map[string]int // Ids as the plan gives them.
	mapped map[string]int // Ids as the job uses them.
	known  map[string]bool
	done   map[string]bool
	hint   string
}

// identify gives each step its id, keeps the original of an id that had to be mapped, and resolves dependencies to ids. It
// returns the dependencies as positions of steps, for judgeOrder.
func (d *draft) identify(o Options) [][]int {
	r := register{
		given: make(map[string]int, len(d.steps)), mapped: make(map[string]int, len(d.steps)),
		known: set(o.Known), done: set(o.Done),
	}
	for i := range d.steps {
		d.name(i, &r)
	}
	ids := slices.DeleteFunc(givenIDs(d.steps), func(id string) bool { return id == "" })
	r.hint = "the steps are " + some(ids, 12)
	edges := make([][]int, len(d.steps))
	for i := range d.steps {
		edges[i] = d.connect(i, &r)
	}
	return edges
}

func set(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, item := range list {
		m[item] = true
	}
	return m
}

// name maps one id and registers the step under both forms. If an id occurs twice, the first step keeps it.
func (d *draft) name(i int, r *register) {
	s := &d.steps[i]
	raw := s.ID
	if raw == "" {
		d.emptyID(s)
		return
	}
	if len(raw) > maxGivenID {
		d.faults.add(events.CodeTooLarge, s.at("id"), fmt.Sprintf("%d bytes, at most %d", len(raw), maxGivenID),
			"choose a short id and say the rest in title")
	}
	if first, again := r.given[raw]; again {
		d.duplicate(s, first, raw)
		return
	}
	r.given[raw] = i
	if !r.known[raw] && (s.Name == "" || events.EscapeID(s.Name) != raw) {
		s.ID, s.Name = events.EscapeID(raw), ""
		if s.ID != raw {
			s.Name = raw
		}
	}
	if first, again := r.mapped[s.ID]; again {
		d.duplicate(s, first, raw)
		return
	}
	r.mapped[s.ID] = i
}

// emptyID records a fault for an empty id. A missing id was recorded when the step was read.
func (d *draft) emptyID(s *step) {
	for _, f := range d.faults.list {
		if f.Field == s.at("id") {
			return
		}
	}
	d.faults.add(events.CodeMissing, s.at("id"), "is empty", "use 1 to 64 of A-Z a-z 0-9 _ -")
}

func (d *draft) duplicate(s *step, first int, id string) {
	d.faults.add(events.CodeDuplicateID, s.at("id"),
		fmt.Sprintf("%.80q is the id of %s too", id, clip.Marked(d.steps[first].path, 80)), "rename one of them")
}

// connect resolves the dependencies of a step to ids, each once.
func (d *draft) connect(i int, r *register) []int {
	s := &d.steps[i]
	if len(s.Dependencies) == 0 {
		s.Dependencies = nil
		return nil
	}
	ids := make([]string, 0, len(s.Dependencies))
	at := make([]int, 0, len(s.Dependencies))
	seen := seen{many: len(s.Dependencies) > fewIDs}
	for _, raw := range s.Dependencies {
		id := raw
		to, ok := r.find(raw)
		if ok {
			id = d.steps[to].ID
		}
		switch {
		case seen.has(ids, id):
			d.warnings.add(events.CodeInvalid, s.at("dependencies"), fmt.Sprintf("%.80q is listed twice", raw), "")
			continue
		case ok && to == i:
			d.faults.add(events.CodeCycle, s.at("dependencies"), fmt.Sprintf("%.80q depends on itself", raw), "take it out of its own dependencies")
		case ok:
			at = append(at, to)
		case !r.done[raw]:
			d.faults.add(events.CodeDangling, s.at("dependencies"), fmt.Sprintf("depends on %.80q, which does not exist", raw), r.hint)
		}
		seen.add(id)
		ids = append(ids, id)
	}
	s.Dependencies = ids
	return at
}

// fewIDs is the number of ids up to which a linear search is faster than building a set.
const fewIDs = 16

// seen finds repeated ids: by linear search in short lists, with a set in long ones.
type seen struct {
	many bool
	set  map[string]bool
}

func (s *seen) has(list []string, id string) bool {
	if s.many {
		return s.set[id]
	}
	return slices.Contains(list, id)
}

func (s *seen) add(id string) {
	if !s.many {
		return
	}
	if s.set == nil {
		s.set = map[string]bool{}
	}
	s.set[id] = true
}

func (r *register) find(id string) (at int, ok bool) {
	if at, ok = r.given[id]; !ok {
		at, ok = r.mapped[id]
	}
	return at, ok
}

// givenIDs lists the ids of steps as the plan gave them.
func givenIDs(steps []step) []string {
	ids := make([]string, len(steps))
	for i := range steps {
		ids[i] = steps[i].given()
	}
	return ids
}
