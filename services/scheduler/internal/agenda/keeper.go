package agenda

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

// Keeper keeps all schedules. Fill in the fields, call Run once; everything else may be called from any goroutine meanwhile.
type Keeper struct {
	// Bus holds facts and timers, Jobs the jobs, Results what they have given; Reporter takes the reports of Steps.
	Bus      bus.Schedules
	Jobs     Jobs
	Results  Results
	Reporter Reporter
	// Zones gives time zones.
	Zones moment.Zones
	// Count counts what became of runs; nil counts nothing.
	Count func(result string)
	// Hook is called at every boundary between two effects; an error ends Run there, as a crash would. For tests.
	Hook   func(point string) error
	Logger *slog.Logger

	mu      sync.Mutex             // Guards what is below. Held while facts are taken in, never while something is done.
	plans   map[string]*recur.Plan // All schedules; a plan changes only under mu, by the goroutine of Run.
	seq     uint64                 // The last fact that was taken in.
	whole   bool                   // Every fact that was there at the beginning has been taken in.
	news    chan struct{}          // Closed and replaced whenever seq or whole changes.
	orphans map[string]uint64      // Facts of schedules that do not exist: their ids, and the last of each.
}

const (
	// readAtOnce is how many facts are taken in before anything is done.
	readAtOnce = 512
	// actAtOnce is how many schedules are acted for at once.
	actAtOnce = 16
	// retryFirst and retryMost bound the wait before what failed is tried again.
	retryFirst, retryMost = time.Second, 30 * time.Second
	// source is the CloudEvents source of what the agenda states.
	source = "jobgraph/scheduler"
)

// New makes a keeper without hook, counter and time zones of its own.
func New(b bus.Schedules, jobs Jobs, zones moment.Zones, logger *slog.Logger) *Keeper {
	return &Keeper{
		Bus: b, Jobs: jobs, Zones: zones, Logger: logger,
		plans: map[string]*recur.Plan{}, news: make(chan struct{}), orphans: map[string]uint64{},
	}
}

// crash carries what the hook returned past the containment of failures.
type crash struct{ error }

func (c crash) Unwrap() error { return c.error }

// Run takes facts in and acts until ctx ends; what is under way then ends with work. It returns nil at the end of ctx, the
// reader's error or the hook's.
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

// read hands facts out until there are no more.
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
	owing := map[string]bool{} // The schedules to act for, none before the state is whole.
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
		case !whole: // What was still to be read may have been removed meanwhile.
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

// begin reports whether the state is whole, and marks it so, once: from then on everything that any schedule owes is done.
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

// tell wakes those who wait for news.
func (k *Keeper) tell() {
	close(k.news)
	k.news = make(chan struct{})
}

// take takes facts in, in order.
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

// step takes one fact in.
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

// actAll does what schedules owe, and leaves in owing those for which something failed. The error is the hook's.
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
				k.Logger.Warn("schedule is tried again", "schedule", id, "error", failure)
			default:
				delete(owing, id)
			}
		})
	}
	all.Wait()
	return len(owing) > 0, err
}

// at calls the hook.
func (k *Keeper) at(point string) error {
	if k.Hook == nil {
		return nil
	}
	if err := k.Hook(point); err != nil {
		return crash{err}
	}
	return nil
}
