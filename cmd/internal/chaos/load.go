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

// load keeps jobs in motion and answers what they ask.
type load struct {
	client *client.Client
	rng    *rand.Rand
	marks  string
	boxes  bool // Programs run at sandbox level landlock, too.
	worker bool // There is a foreign worker.

	mu sync.Mutex // Guards the fields below.
	// accepted are the jobs that were accepted, in order; open those that have not ended, as far as is known: true for one to be looked
	// at, false for one with a waiting client.
	accepted []string
	open     map[string]bool
	closed   bool
	// answers are what a person has said about unknown outcomes, by job and request.
	answers map[[2]string]answer
	// ended is when a job ended last.
	ended time.Time
	// batches is how many of them went to the quick expert.
	batches int
}

// answer is what a person has said about an unknown outcome.
type answer struct {
	subjob, choice string
	at             time.Time
}

// look is the time between two looks at all jobs.
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

// looked is how many jobs in motion are looked at. It needs the lock.
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

// close submits no more jobs.
func (l *load) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.ended = true, time.Now()
}

// submit hands a job in until the bus has it. The request is the same each time, so it is one job however often it was tried.
func (l *load) submit(ctx context.Context, id string) {
	plan, err := json.Marshal(events.Plan{SubJobs: shape(l.rng, l.boxes)})
	if err != nil {
		panic(err) // A plan of ours is JSON.
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

// attend looks whether a job has ended, and answers what it asks. While the bus is away it is looked at again later.
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

// ends notes the end of a job.
func (l *load) ends(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	l.ended = time.Now()
}

// counts gives how many jobs were accepted, how many of them have ended, and how many batches there were.
func (l *load) counts() Stay {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stay{Accepted: len(l.accepted), Ended: len(l.accepted) - len(l.open), Batches: l.batches}
}

// answer says yes, and of an unknown outcome what the marks of the program tell. A person says the same again when asked again.
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
	_ = l.client.Answer(ctx, job, request, choice, "campaign") // When it fails it is said again at the next look.
}

// silent is how long a program has been quiet that is taken for dead: ten times as long as it is between two signs of life.
const silent = time.Second

// decide says what a careful person would: that it has come off of a program that ended, and of any other sometimes that too, and
// sometimes that it is to be tried again. While one gives signs of life nothing is known.
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

// settle waits until every job has ended, or nothing has ended for too long.
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

// shape is a graph by chance: a chain, a fan, or one in which each step has up to three before it.
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
