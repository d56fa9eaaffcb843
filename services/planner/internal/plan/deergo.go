package plan

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// NeedSearch is the capability to search the web, which deer-go's need_web_search requires.
const NeedSearch = "web_search"

// deerGo reads {"steps":[{title, description, …}]}. Each step depends on those before it, unless it names its dependencies.
func (d *draft) deerGo(r reader) {
	d.head(r)
	for i, raw := range r.list("steps") {
		s, ok := d.read(raw, fmt.Sprintf("steps[%d]", i))
		if !ok {
			continue
		}
		d.steps = append(d.steps, s.researchStep(i+1))
		d.place(&s)
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
		s.Needs = []string{NeedSearch}
	}
	if s.Type == "" {
		s.Type = "analysis"
		if len(s.Needs) > 0 {
			s.Type = "research"
		}
	}
	return s
}

// mostEarlier limits how many earlier results a step of a list gets; the latest count.
const mostEarlier = 16

// earlier returns the steps of a list whose results the next step gets.
func earlier(list []events.SubJob) []string {
	var ids []string
	for _, s := range list[max(0, len(list)-mostEarlier):] {
		ids = append(ids, s.ID)
	}
	return ids
}
