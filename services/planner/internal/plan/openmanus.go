package plan

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// tagInFront matches "[anything]" at the beginning of a step, after at most a number; tagInside matches "[word]" anywhere.
var (
	tagInFront = regexp.MustCompile(`^\s*(?:\d+[.)]\s*)?\[([^\[\]]{1,100})\]\s*`)
	tagInside  = regexp.MustCompile(`\[([\pL\pN_-]{1,100})\]`)
)

// openManus reads {"title", "steps":["[TAG] …"]}, where a step may also be {"step":"[TAG] …","dependencies":[…]}. Each step
// depends on those before it, unless it names its dependencies; its tag chooses the expert.
func (d *draft) openManus(r reader) {
	d.head(r)
	r.passOver("step_statuses", "step_notes", "command")
	for i, raw := range r.list("steps") {
		path := fmt.Sprintf("steps[%d]", i)
		item := reader{draft: d, path: path}
		var text string
		switch {
		case kindOf(raw) == '{' && d.version > 0:
			var ok bool
			if item, ok = d.read(raw, path); !ok {
				continue
			}
			text = item.text(stepField)
		case kindOf(raw) != '"' || json.Unmarshal(raw, &text) != nil:
			d.faults.add(events.CodeInvalid, path, "is "+nameOf(raw)+", expected a text", "")
			continue
		}
		s := step{path: path}
		s.SubJob = events.SubJob{ID: fmt.Sprintf("step_%d", i+1), Goal: strings.TrimSpace(text)}
		s.Tag, s.Goal = splitTag(s.Goal)
		d.steps = append(d.steps, s)
		d.place(&item)
		item.tell()
	}
	r.tell()
}

// stepField is the text of a step that is an object.
const stepField = "step"

// splitTag removes the tag from the front of a step; a tag inside the text stays.
func splitTag(text string) (tag, goal string) {
	if m := tagInFront.FindStringSubmatch(text); m != nil {
		if rest := text[len(m[0]):]; rest != "" {
			text = rest
		}
		return strings.TrimSpace(m[1]), text
	}
	if m := tagInside.FindStringSubmatch(text); m != nil {
		return m[1], text
	}
	return "", text
}
