package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// load keeps jobs running and answers their questions.
type load struct {
	client *client.Client
	rng    *rand.Rand
	marks  string
	boxes  bool // Some programs run at sandbox level landlock.
	worker bool // There is a third-party worker.

	mu sync.Mutex // Guards the fields below.
	// accepted are the accepted jobs in order. open are those that have not ended as far as known: true for one that is
	// polled, false for one with a waiting client.
	accepted []string
	open     map[string]bool
	closed   bool
	// answers are a person's answers about unknown outcomes, by job and request.
	answers map[[2]string]answer
	// ended is when the last job ended.
	ended time.Time
	// batches counts the jobs for the quick expert.
	batches int
}

// answer is a person's answer about an unknown outcome.
type answer struct {
	subjob, choice string
	at             time.Time
}

// look is the interval at which all jobs are polled.
const look = 300 * time.Millisecond

func newLoad(c *client.Client, rng *rand.Rand, marks string, boxes bool) *load {
	return &load{boxes: boxes, client: c, rng: rng, marks: marks, open: map[string]bool{}, answers: map[[2]string]answer{}, ended: time.Now()}
}

// run works until ctx ends.
func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for n := 0; ; {
		l.mu.Lock()
		missing := jobsAtOnce - l.looked()
		if l.closed {
			missing = 0
		}
		l.mu.Unlock()
		for ; missing > 0 && ctx.Err() == nil; missing-- {
			n++
			l.submit(ctx, fmt.Sprintf("c%04d", n))
		}
		for _, id := range l.opened() {
			l.attend(ctx, id)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// looked returns how many running jobs are polled. The caller holds the lock.
func (l *load) looked() int {
	n := 0
	for _, looked := range l.open { // any order: they are counted.
		if looked {
			n++
		}
	}
	return n
}

func (l *load) opened() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for _, id := range l.accepted {
		if l.open[id] {
			list = append(list, id)
		}
	}
	return list
}

// close stops submitting jobs.
func (l *load) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.ended = true, time.Now()
}

// submit submits a job until the bus has it. The request is the same each time, so repeated attempts create one job.
func (l *load) submit(ctx context.Context, id string) {
	plan, err := json.Marshal(events.Plan{SubJobs: shape(l.rng, l.boxes)})
	if err != nil {
		panic(err) // Our plans can be encoded.
	}
	retry := events.Duration(200 * time.Millisecond)
	l.hand(ctx, events.Request{ID: id, Goal: "campaign", Plan: plan, Limits: events.Limits{RetryDelay: &retry}}, true)
}

func (l *load) hand(ctx context.Context, r events.Request, looked bool) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := l.client.Submit(within, r)
		cancel()
		if err == nil || errors.Is(err, client.ErrConflict) {
			l.mu.Lock()
			l.accepted, l.open[r.ID] = append(l.accepted, r.ID), looked
			l.mu.Unlock()
			return
		}
	}
}

// attend checks whether a job has ended, and answers its questions. While the bus is unreachable, it tries again later.
func (l *load) attend(ctx context.Context, id string) {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := l.client.Logs().Fold(within, id, 0)
	if err != nil {
		return
	}
	state := h.Job.View()
	if state.Status.Terminal() {
		l.ends(id)
		return
	}
	for _, in := range state.Inputs {
		if in.Kind == events.InputTimer || in.Closing != "" {
			continue
		}
		l.answer(within, id, in.SubJob, in.Request, in.Kind)
	}
}

// ends records the end of a job.
func (l *load) ends(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	l.ended = time.Now()
}

// counts returns the numbers of accepted jobs, ended jobs and batches.
func (l *load) counts() Stay {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stay{Accepted: len(l.accepted), Ended: len(l.accepted) - len(l.open), Batches: l.batches}
}

// answer approves what needs approval, and answers questions about unknown outcomes according to the program's marks. A
// repeated question gets the same answer.
func (l *load) answer(ctx context.Context, job, subjob, request string, kind events.InputKind) {
	choice := "yes"
	if kind == events.InputUnknown {
		l.mu.Lock()
		a, said := l.answers[[2]string{job, request}]
		if !said {
			choice, known := l.decide(job, subjob)
			if !known {
				l.mu.Unlock()
				return
			}
			a = answer{subjob: subjob, choice: choice, at: time.Now()}
			l.answers[[2]string{job, request}] = a
		}
		l.mu.Unlock()
		choice = a.choice
	}
	_ = l.client.Answer(ctx, job, request, choice, "campaign") // If it fails, it is repeated at the next poll.
}

// silent is how long a program must be silent to count as dead: ten times its heartbeat interval.
const silent = time.Second

// decide answers like a careful person. It says that a program that ended has succeeded; of any other it sometimes says the
// same, and sometimes asks for a retry. While a program sends heartbeats, the answer is unknown.
func (l *load) decide(job, subjob string) (choice string, known bool) {
	marks, err := readMarks(l.marks)
	if err != nil {
		return "", false
	}
	choice = []string{run.Retry, run.Retry, run.Success}[l.rng.IntN(3)]
	for _, x := range marks[[2]string{job, subjob}] {
		if !x.end.IsZero() {
			return run.Success, true
		}
		if time.Since(x.seen) < silent {
			return "", false
		}
	}
	return choice, true
}

// settle waits until every job has ended, or none has ended for too long.
func (l *load) settle(ctx context.Context) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		l.mu.Lock()
		over, quiet := len(l.open) == 0, time.Since(l.ended)
		l.mu.Unlock()
		if over || quiet > calm {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// shape returns a random graph: a chain, a fan, or one in which each step depends on up to three earlier ones.
func shape(rng *rand.Rand, boxes bool) []events.SubJob {
	experts := []string{blink, blink, steady, steady, long, once, once, flaky}
	if boxes {
		experts = append(experts, boxed)
	}
	n := 3 + rng.IntN(6)
	steps := make([]events.SubJob, n)
	kind := rng.IntN(3)
	for i := range steps {
		s := &steps[i]
		s.ID, s.Goal, s.Expert = fmt.Sprintf("s%d", i), "go", experts[rng.IntN(len(experts))]
		switch {
		case i == 0:
		case kind == 0:
			s.Dependencies = []string{steps[i-1].ID}
		case kind == 1:
			s.Dependencies = []string{steps[0].ID}
		default:
			for range 1 + rng.IntN(3) {
				if on := steps[rng.IntN(i)].ID; !slices.Contains(s.Dependencies, on) {
					s.Dependencies = append(s.Dependencies, on)
				}
			}
		}
	}
	if rng.IntN(4) == 0 {
		steps[n-1].Expert = clerk
	}
	return steps
}
