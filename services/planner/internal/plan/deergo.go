package plan

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// needSearch is the capability behind deer-go's need_web_search.
const needSearch = "web_search"

// deerGo reads {"steps":[{title, description, …}]}: each step follows the one before it.
func (d *draft) deerGo(r reader) {
	d.head(r)
	for i, raw := range r.list("steps") {
		s, ok := d.read(raw, fmt.Sprintf("steps[%d]", i))
		if !ok {
			continue
		}
		d.steps = append(d.steps, s.researchStep(i+1))
		d.follow()
		s.tell()
	}
	r.tell()
}

func (r *reader) researchStep(number int) step {
	s := step{path: r.path, expertField: "step_type", goalField: "description", wish: true}
	s.SubJob = events.SubJob{
		ID: fmt.Sprintf("step_%d", number), Title: r.text("title"), Goal: r.text("description"),
		Type: strings.ToLower(strings.TrimSpace(r.text("step_type"))), ExecutionRes: r.raw("execution_res"),
	}
	if strings.TrimSpace(s.Goal) == "" {
		s.Goal = s.Title
	}
	search := r.flag("need_web_search")
	if older := r.flag("need_search"); search == nil {
		search = older
	}
	if search != nil && *search {
		s.Needs = []string{needSearch}
	}
	if s.Type == "" {
		s.Type = "analysis"
		if len(s.Needs) > 0 {
			s.Type = "research"
		}
	}
	return s
}

// follow makes the last step depend on the one before it.
func (d *draft) follow() {
	if n := len(d.steps); n > 1 {
		d.steps[n-1].Dependencies = []string{d.steps[n-2].ID}
	}
}
