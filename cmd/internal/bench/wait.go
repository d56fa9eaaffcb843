package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

const (
	question     = "go" // The id of the request for input in each job.
	oneByOne     = 100  // How many answers are given one after another, to measure each.
	answerAtOnce = 64   // How many others are given at a time.
)

// ask is an expert that waits for an answer before it does nothing.
func ask() runner.Function {
	return runner.Function{
		Card: events.Card{ID: expertID, Name: expertID},
		Run: func(_ context.Context, t *runner.Task) (events.SubJobReported, error) {
			if _, answered := t.Work.Answers[question]; !answered {
				return events.SubJobReported{}, &runner.Park{Input: events.InputRequested{Request: question, Kind: events.InputApproval, Prompt: "Go on?"}}
			}
			return events.SubJobReported{Outcome: events.Success}, nil
		},
	}
}

// wait makes jobs wait for a person, measures what they occupy while they wait, and the time from an answer to the end
// of its job.
func (p probe) wait(ctx context.Context, self []string) (list []Measure, err error) {
	graphs := slices.Repeat([]baseline.Graph{{nil}}, p.Size)
	err = p.on(ctx, scene{side: sideAsk, self: self}, func(ctx context.Context, s *stage, d *oursDriver) error {
		before, err := s.usage()
		if err != nil {
			return err
		}
		rest := atRest()
		begin := time.Now()
		if err := d.parked(ctx, graphs); err != nil {
			return err
		}
		took := time.Since(begin)
		held, err := d.held(ctx)
		if err != nil {
			return err
		}
		after, err := s.usage()
		if err != nil {
			return err
		}
		n := float64(p.Size)
		list = append(list,
			value("jobs that began to wait", "per s", n/took.Seconds()),
			limited("work messages held while they wait", "messages", float64(held), 0),
			value("growth of peak memory per job, until it waits", "kB", float64(after.Peak-before.Peak)/1000/n))
		if p.Under.Mode == ModeEmbedded {
			list = append(list, rest.grown(n)...)
		}
		more, err := d.answer(ctx, p.Size)
		list = append(list, more...)
		return err
	})
	return list, err
}

const (
	// waitingMemory limits the memory of a job with one SubJob that waits for a person, in kB.
	waitingMemory = 20
	// waitingGoroutines limits the goroutines kept for future work, however many jobs wait.
	waitingGoroutines = 512
)

// rest is the memory of this process when it is idle, including server and services.
type rest struct {
	heap       uint64
	goroutines int
}

func atRest() rest {
	runtime.GC()
	runtime.GC() // The second collection frees what the first one only finalised.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return rest{heap: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
}

// grown returns how much more is held now for each of n jobs.
func (r rest) grown(n float64) []Measure {
	now := atRest()
	return []Measure{
		limited("live memory per waiting job", "kB", (float64(now.heap)-float64(r.heap))/1000/n, waitingMemory),
		limited("goroutines that came and stay while they wait", "goroutines", float64(now.goroutines-r.goroutines), waitingGoroutines),
	}
}

// parked submits the jobs and returns when all of them wait.
func (d *oursDriver) parked(ctx context.Context, graphs []baseline.Graph) error {
	asked, err := d.listen(2*len(graphs), d.ofEveryJob(events.KindInputRequested, ".>"))
	if err != nil {
		return err
	}
	defer asked.stop()
	if err := d.submit(ctx, "wait", graphs); err != nil {
		return err
	}
	waiting, cancel := patience(ctx, len(graphs))
	defer cancel()
	for range graphs {
		if _, _, err := asked.next(waiting); err != nil {
			return fmt.Errorf("wait for the questions: %w", err)
		}
	}
	return d.settled(ctx)
}

// held counts the messages in the work queue.
func (d *oursDriver) held(ctx context.Context) (uint64, error) {
	facts, err := d.bus.Streams().Info(ctx, d.bus.Names().Work)
	return facts.Messages, err
}

// answer answers all jobs: the first ones one by one, to measure each, the others at once.
func (d *oursDriver) answer(ctx context.Context, n int) ([]Measure, error) {
	alone := min(n, oneByOne)
	took := make([]time.Duration, alone)
	for i := range alone {
		begin := time.Now()
		if err := d.resolve(ctx, i); err != nil {
			return nil, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	list := []Measure{
		value("answer to end of the job, p50", "ms", millis(quantile(took, 0.5))),
		value("answer to end of the job, p99", "ms", millis(quantile(took, 0.99))),
	}
	if n == alone {
		return list, nil
	}
	begin := time.Now()
	var all sync.WaitGroup
	errs := make(chan error, answerAtOnce)
	for lane := range answerAtOnce {
		all.Go(func() {
			for i := alone + lane; i < n; i += answerAtOnce {
				if err := d.resolve(ctx, i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return list, err
	default:
	}
	return append(list, value("jobs answered and ended, many at once", "per s", float64(n-alone)/time.Since(begin).Seconds())), nil
}

// resolve answers one job and waits for its end.
func (d *oursDriver) resolve(ctx context.Context, i int) error {
	job := "wait-" + strconv.Itoa(i)
	c := client.New(d.bus)
	if err := c.Answer(ctx, job, question, map[string]bool{"approved": true}, ""); err != nil {
		return err
	}
	ctx, cancel := patience(ctx, 1)
	defer cancel()
	end, err := c.Wait(ctx, job)
	if err != nil {
		return fmt.Errorf("wait for the end of %s: %w", job, errors.Join(err, context.Cause(ctx)))
	}
	if end.Status != events.Finished {
		return fmt.Errorf("%s is %s: %w", job, end.Status, end.Error)
	}
	return nil
}
