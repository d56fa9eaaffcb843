package output

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Notices returns one line for each notice of a plan: "guidance: TEXT" for the planner's words, "warning: TEXT" for the rest.
func Notices(list events.Faults) []string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = Notice(&list[i])
	}
	return lines
}

// Notice returns the line of one notice.
func Notice(f *events.Fault) string {
	if f.Code == events.CodeGuidance {
		return "guidance: " + drawing.OneLine(f.Message)
	}
	text := f.Error()
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return "warning: " + drawing.OneLine(strings.TrimSpace(text))
}
