package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// heeded is how long it takes, after a scheduler with --rules has declared its level, until every scheduler stops giving newer
	// rules to new jobs.
	heeded = 5 * time.Second
	// declares limits the time until schedulers have declared their level.
	declares = 30 * time.Second
)

// prepareRules reads the decision rules of the other release before its schedulers are replaced. Before they come back it does as
// docs/upgrade.md says: one scheduler gets --rules, and the jobs with newer rules end.
func (f *faults) prepareRules(ctx context.Context, up bool) error {
	gate := release.NewGate(f.load.client.Bus().Services(), release.Scheduler, slog.New(slog.DiscardHandler))
	defer gate.Close()
	if up {
		level, err := f.declared(ctx, gate, func(int) bool { return true })
		f.older = level
		return err
	}
	if f.older >= events.RulesVersion {
		return nil
	}
	at := slices.IndexFunc(f.fleet.list, func(p *process) bool { return p.program == scheduler })
	word := fmt.Sprintf("new with rules %d", f.older)
	if err := f.replace(ctx, f.fleet.list[at], f.fleet.Programs, word, "--rules", strconv.Itoa(f.older)); err != nil {
		return err
	}
	if _, err := f.declared(ctx, gate, func(level int) bool { return level == f.older }); err != nil {
		return err
	}
	if err := f.wait(ctx, heeded); err != nil {
		return err
	}
	begun := time.Now()
	for {
		left, err := f.load.newer(ctx, f.older)
		if err != nil || left == 0 {
			_, _ = fmt.Fprintf(f.fleet.Log, "%7.1f s  no job has rules newer than %d any more, after %.1f s\n", time.Since(f.begun).Seconds(), f.older, time.Since(begun).Seconds())
			return err
		}
		if time.Since(begun) > calm {
			return fmt.Errorf("%d jobs with rules newer than %d do not end", left, f.older)
		}
		if err := f.wait(ctx, look); err != nil {
			return err
		}
	}
}

// declared waits until the schedulers declare rules that are as expected.
func (f *faults) declared(ctx context.Context, gate *release.Gate, expected func(level int) bool) (int, error) {
	for begun := time.Now(); time.Since(begun) < declares; {
		if live, known := gate.Live(ctx); known && live != "" {
			if level := gate.Level(ctx, release.Rules); expected(level) {
				return level, nil
			}
		}
		if err := f.wait(ctx, look); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("no scheduler declares the rules that were expected")
}

// newer counts the jobs that have not ended and are decided by rules newer than a version.
func (l *load) newer(ctx context.Context, version int) (n int, err error) {
	l.mu.Lock()
	open := make([]string, 0, len(l.open))
	for id := range l.open { // any order: they are counted.
		open = append(open, id)
	}
	l.mu.Unlock()
	for _, id := range open {
		h, err := l.client.Logs().Fold(ctx, id, 0)
		if err != nil {
			return 0, fmt.Errorf("read the rules of %s: %w", id, err)
		}
		if state := h.Job.View(); state.Rules.Version > version && !state.Status.Terminal() {
			n++
		}
	}
	return n, nil
}
