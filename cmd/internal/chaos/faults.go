package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// faults strikes processes at random, several at once.
type faults struct {
	fleet *fleet
	load  *load
	rng   *rand.Rand
	under sync.WaitGroup
	// marks shows which programs run.
	marks *marksFile
	// made counts faults by kind, inFlight those that hit running programs, overlapping those during which another fault lasted.
	made        map[string]int
	count       int
	inFlight    int
	overlapping int
	begun       time.Time
	stays       []Stay
	// older is the version of the decision rules of the other release.
	older int
}

func newFaults(f *fleet, l *load, rng *rand.Rand) *faults {
	return &faults{fleet: f, load: l, rng: rng, marks: newMarksFile(l.marks), made: map[string]int{}, begun: time.Now()}
}

// fault is a way to strike one of the processes that run a program.
type fault struct {
	name    string
	program string
	signal  syscall.Signal
	// least and most limit its duration; then a suspended process is resumed and an ended one restarted.
	least, most time.Duration
}

// busAway strikes all servers at once.
const busAway = "every server killed"

// kinds returns the faults, each as often as its relative frequency.
func kinds() []fault {
	beyond := lease + time.Second
	return []fault{
		{"runner killed", runner, syscall.SIGKILL, 0, 2 * time.Second},
		{"runner killed", runner, syscall.SIGKILL, 0, 2 * time.Second},
		{"runner killed", runner, syscall.SIGKILL, beyond, 2 * beyond},
		{"runner stands still", runner, syscall.SIGSTOP, beyond, 2 * beyond},
		{"runner stands still", runner, syscall.SIGSTOP, 0, time.Second},
		{"runner restarted", runner, syscall.SIGTERM, 0, time.Second},
		{"scheduler killed", scheduler, syscall.SIGKILL, 0, 2 * time.Second},
		{"scheduler killed", scheduler, syscall.SIGKILL, 0, 2 * time.Second},
		{"scheduler stands still", scheduler, syscall.SIGSTOP, beyond, 2 * beyond},
		{"scheduler restarted", scheduler, syscall.SIGTERM, 0, time.Second},
		{"planner killed", planner, syscall.SIGKILL, 0, 2 * time.Second},
		{"planner restarted", planner, syscall.SIGTERM, 0, time.Second},
		{"bus killed", natsServer, syscall.SIGKILL, 0, 2 * time.Second},
		{"bus killed", natsServer, syscall.SIGKILL, beyond, 2 * beyond},
		{busAway, natsServer, syscall.SIGKILL, beyond, 2 * beyond},
		{busFull, natsServer, syscall.SIGTERM, beyond, 2 * beyond},
		{"bus stands still", natsServer, syscall.SIGSTOP, beyond, 2 * beyond},
	}
}

// run makes faults until their time is over, and then waits until everything is running again.
func (f *faults) run(ctx context.Context) error {
	end := time.NewTimer(f.fleet.Duration)
	defer end.Stop()
	all := kinds()
	for f.fleet.Faults == 0 || f.count < f.fleet.Faults {
		pause := pauseLeast + time.Duration(f.rng.Int64N(int64(pauseMost-pauseLeast)))
		kind, which, lasts, aimed := all[f.rng.IntN(len(all))], f.rng.Int(), f.rng.Float64(), f.rng.IntN(aimedOf) != 0
		over, err := f.await(ctx, end.C, pause, aimed)
		if err != nil {
			f.under.Wait()
			return err
		}
		if over {
			break
		}
		f.strike(kind, which, kind.least+time.Duration(lasts*float64(kind.most-kind.least)))
	}
	return f.heal()
}

// await waits before a fault: for a pause, and if the fault is aimed, until a program is at work as well, within limits. It returns
// true if the time for faults is over.
func (f *faults) await(ctx context.Context, end <-chan time.Time, pause time.Duration, aimed bool) (over bool, err error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for latest := time.Now().Add(pause + aimMost); ; {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-end:
			return true, nil
		case <-timer.C:
		}
		if now := time.Now(); !aimed || !now.Before(latest) || f.marks.atWork(now) > 0 {
			return false, nil
		}
		timer.Reset(aimEvery)
	}
}

// strike makes one fault. A cluster lacks one server at a time, or all of them.
func (f *faults) strike(kind fault, which int, lasts time.Duration) {
	var of []*process
	for _, p := range f.fleet.list {
		if p.program == kind.program {
			of = append(of, p)
		}
	}
	if kind.program == natsServer && slices.ContainsFunc(of, (*process).struck) || kind.name == busAway && len(of) == 1 {
		return // The loss of a single server is another kind of fault.
	}
	if kind.name != busAway {
		of = of[which%len(of):][:1]
	}
	flying, beside := f.marks.atWork(time.Now()), slices.ContainsFunc(f.fleet.list, (*process).struck)
	of = slices.DeleteFunc(of, func(p *process) bool { return !p.strike(kind.signal) })
	if len(of) == 0 {
		return
	}
	f.count++
	f.made[kind.name]++
	if flying > 0 {
		f.inFlight++
	}
	if beside {
		f.overlapping++
	}
	_, _ = fmt.Fprintf(f.fleet.Log, "%7.1f s  %s: %s for %.1f s, %d programs at work\n", time.Since(f.begun).Seconds(), kind.name, of[0].name, lasts.Seconds(), flying)
	for _, p := range of {
		f.undo(p, kind, lasts)
	}
}

// undo ends a fault after its time: it resumes a suspended process and restarts an ended one.
func (f *faults) undo(p *process, kind fault, lasts time.Duration) {
	f.under.Go(func() { // Ends when the fault does.
		if kind.name == busFull {
			if err := p.fill(lasts); err != nil {
				_, _ = fmt.Fprintln(f.fleet.Log, err)
			}
			return
		}
		<-time.After(lasts)
		if kind.signal == syscall.SIGSTOP {
			p.wake()
			return
		}
		p.gone()
		if err := p.start(); err != nil {
			_, _ = fmt.Fprintln(f.fleet.Log, err)
		}
	})
}

// struck reports whether a process is down or suspended.
func (p *process) struck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped || p.away || p.full
}

// heal waits for the active faults, and restarts processes that ended by themselves, as a supervisor does.
func (f *faults) heal() error {
	f.under.Wait()
	for _, p := range f.fleet.list {
		if p.alive() {
			continue
		}
		if err := p.start(); err != nil {
			return err
		}
	}
	return nil
}
