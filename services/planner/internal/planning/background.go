package planning

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

const (
	// MaxPlanSteps limits the steps of the present plan that a planner is shown.
	MaxPlanSteps = 200
	// maxBackground limits what a prompt says about the job, in bytes.
	maxBackground = 32 << 10
)

// background is what the planning of a part knows about the whole job, as data: the original request and the plan with its
// statuses.
func (t *Start) background() string {
	b := t.Brief
	if b == nil || t.Mode != events.WorkSplit && t.Mode != events.WorkReplan {
		return ""
	}
	var list []Finding
	if t.Mode == events.WorkSplit { // Otherwise the prompt has the request already.
		text := b.Request.Goal
		if c := strings.TrimSpace(b.Request.Context); c != "" {
			text += "\n\n" + c
		}
		list = append(list, Finding{Source: "job", Title: "the request", Text: clip.Marked(text, maxBackground/2)})
	}
	if b.Plan != nil {
		list = append(list, Finding{Source: "job", Title: "the plan", Text: strings.TrimSpace(b.Outline())})
	}
	return Delimited(list, maxBackground)
}
