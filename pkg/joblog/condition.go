package joblog

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// condition rewrites the `when` of a SubJob with the names of the new plan. Nothing is split in that plan, so the name of a
// split SubJob is replaced by the one SubJob whose value the condition would read.
func (f *forker) condition(n *graph.SubJobState, when string) (string, error) {
	if _, err := graph.ParseCondition(when); err != nil {
		return "", err
	}
	var fault error
	text := graph.RenameOperands(when, func(name, path string) string {
		d, err := source(f.state, n, name, path)
		if err != nil {
			fault = err
			return name
		}
		return f.names[d.ID]
	})
	if fault != nil {
		return "", fault
	}
	_, err := graph.ParseCondition(text) // Longer names may make it too long.
	return text, err
}

// source returns the SubJob whose value a name in a condition means: a sibling in the same plan or, if that was split, the
// first part that has the value.
func source(s *graph.State, n *graph.SubJobState, name, path string) (*graph.SubJobState, error) {
	var found, tails []*graph.SubJobState
	scope := strings.TrimSuffix(n.ID, n.Spec.ID)
	if at := slices.IndexFunc(s.SubJobs, func(d *graph.SubJobState) bool { return d.ID == scope+name }); at >= 0 {
		found = append(found, s.SubJobs[at])
	}
	for i := 0; i < len(found); i++ {
		d := found[i]
		for _, at := range d.ReplacedBy {
			found = append(found, s.SubJobs[at])
		}
		if InGraph(d) && slices.ContainsFunc(n.Deps, func(at int32) bool { return s.SubJobs[at] == d }) {
			tails = append(tails, d)
		}
	}
	may := slices.DeleteFunc(slices.Clone(tails), func(d *graph.SubJobState) bool {
		_, has := d.Selected[path]
		return d.Status == events.Finished && !has
	})
	switch {
	case len(tails) > 0 && len(may) == 0:
		return tails[0], nil
	case len(may) == 1, len(may) > 1 && may[0].Status == events.Finished:
		return may[0], nil
	case len(may) > 1:
		return nil, &events.Fault{
			Code: events.CodeConflict, Field: n.ID, Message: "its condition reads " + name + "." + path + " of the first that has it among several that " + name + " was split into, and not all of them have finished",
			Hint: "fork before the split or after their ends: --at-seq",
		}
	}
	return nil, &events.Fault{
		Code: events.CodeDangling, Field: n.ID, Message: "its condition reads " + name + ", which is no direct predecessor any more",
		Hint: "fork at another sequence: --at-seq",
	}
}
