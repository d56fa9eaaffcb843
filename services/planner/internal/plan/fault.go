package plan

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// MaxFaults limits the faults and the warnings of one plan; further ones are only counted.
const MaxFaults = 100

// notes collects faults or warnings up to MaxFaults, since the number of faults grows with the input.
type notes struct {
	list events.Faults
	more int
	// cut is the code of the faults that are only counted; CodeTooLarge if they differ.
	cut events.Code
}

func (n *notes) add(code events.Code, field, message, hint string) {
	n.put(events.Fault{Code: code, Field: field, Message: message, Hint: hint})
}

func (n *notes) put(f events.Fault) {
	if len(n.list) >= MaxFaults {
		if n.more++; n.more == 1 {
			n.cut = f.Code
		} else if n.cut != f.Code {
			n.cut = events.CodeTooLarge
		}
		return
	}
	f.Field = clip.Marked(f.Field, 200)
	n.list = append(n.list, f)
}

func (n *notes) all() events.Faults {
	if n.more == 0 {
		return n.list
	}
	return append(n.list, events.Fault{
		Code: n.cut, Message: fmt.Sprintf("and %d more", n.more), Hint: "correct those above and check again",
	})
}

// some lists the first few names, for a hint.
func some(names []string, most int) string {
	out := ""
	for i, name := range names {
		if i == most {
			return out + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			out += ", "
		}
		out += clip.Marked(name, 80)
	}
	return out
}
