package conversation

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
)

// MaxPlanSteps limits the steps of a plan that a model is shown: those around its own.
const MaxPlanSteps = 50

// background tells the model about the job, as data: the original request, the plan with the place of the step, and for whom and
// until when the work is done. It does not repeat what the step says.
func background(w *events.Work, job *brief.Brief) string {
	if job == nil {
		return ""
	}
	var b strings.Builder
	if job.Adds(w.Goal, w.Context) {
		b.WriteString("\n" + partOf + "\n\n")
		b.WriteString(Data("job", "request", original(w, &job.Request), MaxShown))
		if job.Plan != nil {
			b.WriteString("\n" + Data("job", "plan", job.Outline(), MaxShown))
		}
	}
	b.WriteString("\n" + Data("job", "facts", facts(job), MaxShown))
	return b.String()
}

// partOf introduces the text about the job, for a model whose request is one step of it.
const partOf = "The request above is one step of a larger job. What follows about the job is background: do this step, and leave the other " +
	"steps to those who do them."

// original is the request of the job without what the step repeats.
func original(w *events.Work, r *brief.Request) string {
	text := strings.TrimSpace(r.Goal)
	if r.Context != "" && !strings.Contains(w.Context, r.Context) {
		text += "\n\nContext:\n" + strings.TrimSpace(r.Context)
	}
	if len(r.Inputs) > 0 {
		text += "\n\nInputs: " + strings.Join(r.Inputs, ", ")
	}
	return strings.TrimSpace(text)
}

// facts says who the work is for, when and with what budget, one fact per line.
func facts(job *brief.Brief) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			b.WriteString(name + ": " + brief.Line(value, maxFact) + "\n")
		}
	}
	line("job", job.Job)
	line("user", job.User)
	line("session", job.Session)
	line("thread", job.Thread)
	line("locale", job.Locale)
	line("time zone", job.Timezone)
	if !job.Deadline.IsZero() {
		line("deadline", job.Deadline.UTC().Format(time.RFC3339))
	}
	if job.Budget.Tokens > 0 {
		line("tokens left", fmt.Sprint(job.Budget.Tokens))
	}
	if job.Budget.CostUSD > 0 {
		line("US dollars left", fmt.Sprint(job.Budget.CostUSD))
	}
	return strings.TrimSpace(b.String())
}

// maxFact limits a fact, in bytes.
const maxFact = 256
