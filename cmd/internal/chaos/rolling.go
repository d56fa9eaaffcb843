package chaos

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// mix says which services are of this release; the others are of the other one.
type mix struct{ scheduler, planner, runner bool }

func (m mix) String() string {
	word := map[bool]string{false: "old", true: "new"}
	return fmt.Sprintf("scheduler %s, planner %s, runner %s", word[m.scheduler], word[m.planner], word[m.runner])
}

// with returns the mix after a role has switched.
func (m mix) with(role string) mix {
	switch role {
	case scheduler:
		m.scheduler = !m.scheduler
	case planner:
		m.planner = !m.planner
	case runner:
		m.runner = !m.runner
	}
	return m
}

// tour returns the order in which roles switch, starting with all services of the other release: through each of the eight
// mixes and back, then as docs/upgrade.md says up to this release and down again.
func tour() []string {
	all := []string{runner, planner, runner, scheduler, runner, planner, runner, scheduler}
	upgrade := []string{runner, planner, scheduler}
	return append(append(all, upgrade...), scheduler, planner, runner)
}

// Stay is one stop of the tour: how long a mix lasted, how many jobs were accepted and ended during that time, and how many
// batches of work there were.
type Stay struct {
	Mix      string        `json:"mix"`
	Lasted   time.Duration `json:"lasted"`
	Accepted int           `json:"accepted"`
	Ended    int           `json:"ended"`
	Batches  int           `json:"batches"`
}

func (s *Stay) text() string {
	return fmt.Sprintf("%.1f s, %d jobs accepted, %d ended, %d batches", s.Lasted.Seconds(), s.Accepted, s.Ended, s.Batches)
}

// roll replaces the services role by role, one process at a time, and waits for the end of each before it starts the other
// release.
func (f *faults) roll(ctx context.Context) error {
	roles := tour()
	dwell := f.fleet.Duration / time.Duration(len(roles)*perRole+1)
	var now mix
	for _, role := range roles {
		began, before := time.Now(), f.load.counts()
		if err := f.wait(ctx, dwell); err != nil {
			return err
		}
		stay := f.load.counts()
		stay.Mix, stay.Lasted = now.String(), time.Since(began).Round(time.Millisecond)
		stay.Accepted, stay.Ended, stay.Batches = stay.Accepted-before.Accepted, stay.Ended-before.Ended, stay.Batches-before.Batches
		f.stays = append(f.stays, stay)
		_, _ = fmt.Fprintf(f.fleet.Log, "%7.1f s  %s: %s\n", time.Since(f.begun).Seconds(), stay.Mix, stay.text())
		now = now.with(role)
		if role == scheduler {
			if err := f.prepareRules(ctx, now.scheduler); err != nil {
				return err
			}
		}
		if err := f.change(ctx, role, now, dwell); err != nil {
			return err
		}
	}
	if err := f.wait(ctx, dwell); err != nil {
		return err
	}
	for _, p := range f.fleet.list {
		if !p.alive() {
			f.made[p.program+" that ended by itself"]++
		}
	}
	return f.heal()
}

// change replaces the processes of a role by those of the other release.
func (f *faults) change(ctx context.Context, role string, to mix, dwell time.Duration) error {
	dir, word := f.fleet.Other, "old"
	if role == scheduler && to.scheduler || role == planner && to.planner || role == runner && to.runner {
		dir, word = f.fleet.Programs, "new"
	}
	processes := slices.DeleteFunc(slices.Clone(f.fleet.list), func(p *process) bool { return p.program != role })
	for i, p := range processes {
		if i > 0 {
			if err := f.wait(ctx, dwell); err != nil {
				return err
			}
		}
		if err := f.replace(ctx, p, dir, word); err != nil {
			return err
		}
	}
	return nil
}

// replace ends a process with SIGTERM and starts one of a release in its place, with further flags.
func (f *faults) replace(ctx context.Context, p *process, dir, word string, flags ...string) error {
	told := time.Now()
	if !p.strike(syscall.SIGTERM) {
		return fmt.Errorf("%s is not there to be replaced", p.name)
	}
	p.gone()
	took := time.Since(told)
	if why := p.failure(); why != nil {
		f.made[p.program+" that did not end well"]++
		_, _ = fmt.Fprintf(f.fleet.Log, "%s ended with %v after %.1f s\n", p.name, why, took.Seconds())
	}
	if err := f.fleet.equip(ctx, p, dir); err != nil {
		return err
	}
	p.args = append(p.args, flags...)
	if err := p.start(); err != nil {
		return err
	}
	f.count++
	f.made[p.program+" replaced by "+word]++
	_, _ = fmt.Fprintf(f.fleet.Log, "%7.1f s  %s is %s now, the one before ended within %.1f s\n", time.Since(f.begun).Seconds(), p.name, word, took.Seconds())
	return nil
}

func (f *faults) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
