package recurring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/recur"
)

// Keeper maintains all schedules. Fill in the fields and call Run once; everything else may be called from any goroutine
// meanwhile.
type Keeper struct {
	// Bus stores facts and timers, Jobs submits and stops jobs, Results reads their results; Reporter publishes the reports of
	// Steps.
	Bus      bus.Schedules
	Jobs     Jobs
	Results  Results
	Reporter Reporter
	// Zones finds time zones by name.
	Zones moment.Zones
	// Count counts the outcomes of runs; nil counts nothing.
	Count func(result string)
	// Hook is called at every boundary between two effects; an error ends Run there, as a crash would. For tests.
	Hook   func(point string) error
	Logger *slog.Logger

	mu      sync.Mutex             // Guards the fields below. Held while facts are applied, never during effects.
	plans   map[string]*recur.Plan // All schedules; a plan changes only under mu, by the goroutine of Run.
	seq     uint64                 // The last fact that was applied.
	whole   bool                   // All facts that existed at the start have been applied.
	news    chan struct{}          // Closed and replaced whenever seq or whole changes.
	orphans map[string]uint64      // Facts of unknown schedules: the ids, and the sequence of the last fact of each.
}

const (
	// readAtOnce is how many facts are read before any effect is made.
	readAtOnce = 512
	// actAtOnce is how many schedules have effects in progress at once.
	actAtOnce = 16
	// retryFirst and retryMost bound the wait before a failed effect is tried again.
	retryFirst, retryMost = time.Second, 30 * time.Second
	// source is the CloudEvents source of the facts that this package publishes.
	source = "jobgraph/scheduler"
)

// New makes a keeper over the facts in b. Results, Reporter, Count and Hook are left for the caller to set.
func New(b bus.Schedules, jobs Jobs, zones moment.Zones, logger *slog.Logger) *Keeper {
	return &Keeper{
		Bus: b, Jobs: jobs, Zones: zones, Logger: logger,
		plans: map[string]*recur.Plan{}, news: make(chan struct{}), orphans: map[string]uint64{},
	}
}

// crash marks an error of the hook, which ends Run instead of being retried.
type crash struct{ error }

func (c crash) Unwrap() error { return c.error }

// Run applies facts and carries out commands until ctx ends; effects that are in progress then are bounded by work. It returns nil at
// the end of ctx, the reader's error or the hook's.
func (k *Keeper) Run(ctx, work context.Context, reader Reader) error {
	batches := make(chan []bus.Delivery)
	reading := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() { reading <- read(ctx, reader, batches) }() // Ends with ctx, and is waited for below.
	err := k.serve(ctx, work, batches)
	cancel()
	if failure := <-reading; err == nil && failure != nil && !errors.Is(failure, context.Canceled) && !errors.Is(failure, bus.ErrClosed) {
		err = fmt.Errorf("read schedules: %w", failure)
	}
	return err
}

// read passes facts on until there are no more.
func read(ctx context.Context, reader Reader, out chan<- []bus.Delivery) error {
	defer close(out)
	for {
		list, err := reader.Next(ctx, readAtOnce)
		if err != nil {
			return err
		}
		select {
		case out <- list:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (k *Keeper) serve(ctx, work context.Context, batches <-chan []bus.Delivery) error {
	owing := map[string]bool{} // The schedules with pending commands; none before the state is complete.
	wait := retryFirst
	retry := time.NewTimer(wait)
	defer retry.Stop()
	for {
		whole := k.begin(work, owing)
		failed := false
		if whole {
			var err error
			if failed, err = k.actAll(work, owing); err != nil {
				return err
			}
		}
		retry.Stop()
		switch {
		case failed:
			retry.Reset(wait)
			wait = min(2*wait, retryMost)
		case !whole: // The missing facts may have been removed meanwhile: look again.
			retry.Reset(retryFirst)
		default:
			wait = retryFirst
		}
		select {
		case <-ctx.Done():
			return nil
		case <-retry.C:
		case list, ok := <-batches:
			if !ok {
				return nil
			}
			k.take(list, owing)
		}
	}
}

// begin reports whether the state is complete, and marks it so once: from then on pending commands are executed.
func (k *Keeper) begin(ctx context.Context, owing map[string]bool) bool {
	k.mu.Lock()
	whole := k.whole
	k.mu.Unlock()
	if whole {
		return true
	}
	last, err := k.Bus.Last(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil || k.seq < last {
		return false
	}
	k.whole = true
	for id := range k.plans {
		owing[id] = true
	}
	k.tell()
	return true
}

// tell wakes everyone who waits on the channel news.
func (k *Keeper) tell() {
	close(k.news)
	k.news = make(chan struct{})
}

// take applies a list of facts in order, and adds their schedules to owing.
func (k *Keeper) take(list []bus.Delivery, owing map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range list {
		k.seq = list[i].Seq()
		f, ok := k.Bus.Fact(&list[i])
		if !ok {
			continue
		}
		k.step(&f)
		owing[f.ID] = true
	}
	k.tell()
}

// step applies one fact to its schedule, or begins the schedule with it. A fact of an unknown schedule makes it an orphan.
func (k *Keeper) step(f *schedule.Fact) {
	p := k.plans[f.ID]
	if p != nil && (p.Status != schedule.Gone || f.Kind != schedule.Created) {
		p.Step(f)
		return
	}
	if p, ok := recur.Begin(f, k.Zones); ok {
		k.plans[f.ID] = p
		delete(k.orphans, f.ID)
		return
	}
	k.orphans[f.ID] = f.Seq
}

// actAll executes the pending commands of schedules, and leaves those in owing for which something failed. The error is the
// hook's.
func (k *Keeper) actAll(ctx context.Context, owing map[string]bool) (failed bool, err error) {
	var mu sync.Mutex // Guards owing and err.
	var all sync.WaitGroup
	slots := make(chan struct{}, actAtOnce)
	ids := make([]string, 0, len(owing))
	for id := range owing {
		ids = append(ids, id)
	}
	for _, id := range ids {
		slots <- struct{}{}
		all.Go(func() { // Ends with the effects of one schedule.
			defer func() { <-slots }()
			failure := k.act(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			var c crash
			switch {
			case errors.As(failure, &c):
				err = failure
			case failure != nil:
				k.Logger.Warn("retrying schedule", "schedule", id, "error", failure)
			default:
				delete(owing, id)
			}
		})
	}
	all.Wait()
	return len(owing) > 0, err
}

// at calls the hook, if there is one, at a boundary between two effects. Its error is a crash.
func (k *Keeper) at(point string) error {
	if k.Hook == nil {
		return nil
	}
	if err := k.Hook(point); err != nil {
		return crash{err}
	}
	return nil
}
