package cli

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// condition is the `when` of a SubJob with the names of the new plan. Nothing is split in that plan, so a name for what was
// split becomes that of the one SubJob whose value the condition would read.
func (f *forker) condition(s *graph.State, n *graph.SubJobState, when string, names map[string]string) (string, error) {
	if _, err := graph.ParseCondition(when); err != nil {
		return "", err
	}
	var fault error
	text := renameOperands(when, func(name, path string) string {
		d, err := source(s, n, name, path)
		if err != nil {
			fault = err
			return name
		}
		return names[d.ID]
	})
	if fault != nil {
		return "", fault
	}
	_, err := graph.ParseCondition(text) // Longer names may make it too long.
	return text, err
}

// source is the SubJob whose value a name in a condition means: a sibling in the same plan, or of what that was split into
// the first that has the value.
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
		if present(d) && slices.ContainsFunc(n.Deps, func(at int32) bool { return s.SubJobs[at] == d }) {
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
			Hint: "fork at a moment before the split or behind their ends: --at-seq",
		}
	}
	return nil, &events.Fault{
		Code: events.CodeDangling, Field: n.ID, Message: "its condition reads " + name + ", which is no direct predecessor any more",
		Hint: "fork at another moment: --at-seq",
	}
}

// renameOperands gives a condition that can be read other names of SubJobs, and leaves everything else in it as it is.
func renameOperands(when string, rename func(name, path string) string) string {
	var b strings.Builder
	literal := false // What follows a comparison is a value: 1.5 is no operand.
	for i := 0; i < len(when); {
		end := i + 1
		switch c := when[i]; {
		case c == '"' || c == '\'':
			end += strings.IndexByte(when[end:], c) + 1
			literal = false
		case c == '=' || c == '<' || c == '>':
			literal = true
		case operandByte(c):
			for end < len(when) && operandByte(when[end]) {
				end++
			}
			if name, path, ok := strings.Cut(when[i:end], "."); ok && !literal {
				b.WriteString(rename(name, path) + "." + path)
				i = end
				continue
			}
			literal = false
		}
		b.WriteString(when[i:end])
		i = end
	}
	return b.String()
}

func operandByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-~.", c) >= 0
}
