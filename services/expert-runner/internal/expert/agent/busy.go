package agent

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// How a run waits for a model without capacity.
const (
	// holdAtMost is the longest wait inside the run; for a longer one it gives its work back.
	holdAtMost = 5 * time.Second
	// firstWait is the wait if the model does not say how long, longestWait the limit of growing waits: a run that is
	// rejected repeatedly waits longer each time, so that many runs do not all return at once.
	firstWait   = 10 * time.Second
	longestWait = 10 * time.Minute
	// DefaultPatience is the default limit of all waits of a SubJob together.
	DefaultPatience = 24 * time.Hour
)

// busyMark follows the run in the id of a wait; after it come the number of the model call, how often it was refused, and the
// total seconds of all waits.
const busyMark = "busy"

// maxSaid limits the quoted message of a provider, in bytes.
const maxSaid = 500

// busy gives the run back until its model has capacity again, if patience and the job's deadline allow it. It returns nil
// for any other failure, or if the wait would be too long. None of this counts as an attempt.
func (r *run) busy(err error, question int) *events.InputRequested {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.RateLimited && e.Class != llm.Overloaded {
		return nil
	}
	w := r.task.Work
	times, waited := r.waits(question)
	wait := r.wait(cmp.Or(e.RetryAfter, firstWait), times)
	until := time.Now().Add(wait)
	patience := cmp.Or(r.config.Patience, DefaultPatience)
	if waited+wait > patience || !w.Deadline.IsZero() && !until.Before(w.Deadline) {
		return nil
	}
	reason := "rate limited by"
	if e.Class == llm.Overloaded {
		reason = "no capacity at"
	}
	mark := fmt.Sprintf("%s-%d-%d-%d", busyMark, question, times+1, int64((waited+wait).Seconds()+1))
	return &events.InputRequested{
		Request: jobrun.RequestID(w.SubJob, w.Run, mark), Kind: events.InputTimer, ExpiresIn: events.Duration(wait),
		Prompt: fmt.Sprintf("%s model %s until %s: %s", reason, e.Model, until.UTC().Format(time.RFC3339), conversation.Clip(e.Message, maxSaid)),
	}
}

// waits returns how often the runs that this one resumes were rejected with this question, and how long they have waited
// for a model in total.
func (r *run) waits(question int) (times int, waited time.Duration) {
	for request := range r.task.Work.Answers { // any order: the last wait has the highest numbers.
		parts := strings.Split(request[strings.LastIndexByte(request, '~')+1:], "-")
		if len(parts) != 4 || parts[0] != busyMark {
			continue
		}
		if n, err := strconv.Atoi(parts[2]); err == nil && parts[1] == strconv.Itoa(question) {
			times = max(times, n)
		}
		seconds, _ := strconv.ParseInt(parts[3], 10, 64) // Text that is not a number counts as 0.
		waited = max(waited, time.Duration(seconds)*time.Second)
	}
	return times, waited
}

// wait returns the delay that the model asked for, longer with each rejection, plus a little more derived from a hash of the run,
// so that runs with the same delay do not return at once.
func (r *run) wait(asked time.Duration, times int) time.Duration {
	wait := max(asked, min(asked*time.Duration(1+min(times, 100)), longestWait))
	h := fnv.New32a()
	h.Write([]byte(r.task.Work.IdempotencyKey))
	return wait + wait/4*time.Duration(h.Sum32()%1024)/1024
}
