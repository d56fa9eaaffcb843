package cli

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	runbrief "github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// writeBrief shows what the last run of a SubJob knew about its job.
func (g views) writeBrief(h *joblog.Log, subjob string) error {
	if subjob == "" {
		return usageError{fmt.Errorf("--brief is about a SubJob: jobgraph describe %s/SUBJOB --brief", h.Job.ID)}
	}
	b, err := h.Brief(subjob)
	if err != nil {
		return err
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, b)
	}
	return g.app.printf("%s", briefText(b))
}

// briefText returns a brief for people.
func briefText(b *runbrief.Brief) string {
	var t strings.Builder
	field := func(name, value string) {
		if value != "" {
			value = strings.ReplaceAll(output.Clean(value), "\n", "\n"+strings.Repeat(" ", 11))
			fmt.Fprintf(&t, "%-10s %s\n", name, value)
		}
	}
	field("job", b.Job)
	field("request", b.Request.Goal)
	field("context", b.Request.Context)
	field("inputs", strings.Join(b.Request.Inputs, ", "))
	field("files", strings.Join(b.Request.Attachments, ", "))
	field("locale", b.Locale)
	field("time zone", b.Timezone)
	field("session", b.Session)
	field("thread", b.Thread)
	field("user", b.User)
	if !b.Deadline.IsZero() {
		field("deadline", moment(b.Deadline))
	}
	field("left", spent(b.Budget))
	for _, lesson := range b.Lessons {
		field("lesson", lesson)
	}
	if text := b.Outline(); text != "" {
		t.WriteString("\n" + output.Clean(text))
	}
	return t.String()
}
