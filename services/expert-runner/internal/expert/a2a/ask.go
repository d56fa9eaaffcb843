package a2a

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// mark distinguishes the request of a round from others. An attempt after a failure asks again.
func (r *run) mark(round int) string {
	return fmt.Sprintf("a2a%d-%d", max(r.task.Work.Attempt, 1), round)
}

// answer returns a person's answer to the agent's request of a round, in this run or in one that it resumes.
func (r *run) answer(round int) (events.InputClosed, bool) {
	for request, closed := range r.task.Work.Answers { // any order: at most one request of a run and those that it resumes has this mark.
		if strings.HasSuffix(request, "~"+r.mark(round)) {
			return closed, true
		}
	}
	return events.InputClosed{}, false
}

// ask passes the agent's request to a person. Nothing is held until the answer.
func (r *run) ask(round int) task.Ending {
	w := r.task.Work
	prompt := r.record.words()
	if prompt == "" {
		prompt = "It has not said what for."
	}
	return task.Ending{Park: &events.InputRequested{
		Request: jobrun.RequestID(w.SubJob, w.Run, r.mark(round)), Kind: events.InputClarification, User: w.User,
		Prompt: clip("The agent at "+r.host+" needs input: "+prompt, maxShown),
	}}
}
