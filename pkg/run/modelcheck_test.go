package run_test

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// The safeties that can be switched off.
const (
	offNames    = "a decision closes the intent that it names, and no other"
	offCovers   = "an answer covers the intents before its question"
	offAsk      = "an effect with an unknown outcome is asked about"
	offFinished = "a finished effect is answered from the journal"
	offLineage  = "results are shared along the runs that a run continues"
	offResult   = "a result ends its intent"
	offNotBegun = "a run that is turned away says that its effect was not begun"
	offFence    = "an append behind a claim expects the one before"
	offExpect   = "a claim expects the end of the journal as it was read"
	offLease    = "a claim holds for a lease"
	offSince    = "a lease counts from when the bus was there"
	offLook     = "a program looks at its claim before it starts"
	offFresh    = "whose lease has passed renews it before it begins an effect"
	offClosed   = "a closed run is dropped"
)

// forget removes what a runner knows only because of the safety that is switched off.
func (m *model) forget(known *run.Effects, entries []run.Entry) {
	switch m.off {
	case offNames: // The former rule: the runs of a lineage count as one, and a decision closes every intent of its key.
		j := run.Read(entries)
		lineage := j.Lineage(known.Run)
		known.Unresolved = slices.DeleteFunc(known.Unresolved, func(u run.Unresolved) bool {
			return !u.Stray && slices.ContainsFunc(entries, func(e run.Entry) bool {
				return e.Decides > 0 && e.Key == u.Intent.Key && slices.Contains(lineage, e.Run)
			})
		})
	case offAsk:
		known.Unresolved = nil
	case offFinished:
		clear(known.Finished)
		known.Declared = nil
	case offResult:
		open := slices.DeleteFunc(slices.Clone(entries), func(e run.Entry) bool {
			return e.Type == events.JournalResult && e.Decides == 0 && e.Reason == ""
		})
		known.Unresolved = run.Read(open).Effects(known.Run, 0).Unresolved
	}
}

// node is a reached state.
type node struct {
	parent int
	name   string
}

// explore takes every step from every state, the nearest first, until a property is broken.
func explore(m *model, most int) (states int, trace []string, err error) {
	type found struct {
		at int
		w  *state
	}
	nodes := []node{{parent: -1}}
	seen := map[[16]byte]struct{}{newState(m).key(): {}}
	queue := []found{{0, newState(m)}}
	walk := func(at int, last string) []string {
		list := []string{last}
		for ; at > 0; at = nodes[at].parent {
			list = append(list, nodes[at].name)
		}
		slices.Reverse(list)
		return list
	}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, s := range next.w.steps() {
			if s.err != nil {
				return len(nodes), walk(next.at, s.name), s.err
			}
			key := s.to.key()
			if _, known := seen[key]; known {
				continue
			}
			if len(nodes) >= most {
				return len(nodes), walk(next.at, s.name), errors.New("more states than the bounds should have")
			}
			seen[key] = struct{}{}
			nodes = append(nodes, node{next.at, s.name})
			queue = append(queue, found{len(nodes) - 1, s.to})
		}
	}
	return len(nodes), nil, nil
}

// key identifies a state. States are equal if they differ only in how long ago something was, when nothing depends on it any more,
// or in which runner is which.
func (w *state) key() (sum [16]byte) {
	h := fnv.New128a()
	h.Write([]byte(min(w.keyFrom(0), w.keyFrom(1))))
	h.Sum(sum[:0])
	return sum
}

func (w *state) keyFrom(first int) string {
	b := make([]byte, 0, 256)
	put := func(list ...int) {
		for _, v := range list {
			b = binary.AppendVarint(b, int64(v))
		}
	}
	flag := func(list ...bool) {
		for _, v := range list {
			if v {
				put(1)
			} else {
				put(0)
			}
		}
	}
	age := func(t int) int { return min(w.now-t, leaseLong) }
	index := func(seq uint64) int {
		at := 0
		for i := range w.entries {
			if e := &w.entries[i]; e.Seq == seq {
				return at
			} else if !renewal(e) {
				at++
			}
		}
		return -1
	}
	read := func(n int) int {
		for i := range w.entries[:n] {
			if renewal(&w.entries[i]) {
				n--
			}
		}
		return n
	}
	for i := range w.entries {
		e := &w.entries[i]
		if renewal(e) {
			continue
		}
		b = append(b, e.Type[0], e.Type[2], byte(e.Run), byte(len(e.Key)), byte(e.Lease/1e9))
		if e.Owner != "" {
			b = append(b, (e.Owner[0]-'a')^byte(first), e.Owner[1])
		}
		b = append(b, e.Reason...)
		b = append(b, e.Name...)
		put(index(e.Decides))
		if e.Type == events.JournalReported || e.Type == events.JournalResult {
			b = append(b, e.Data...)
		}
	}
	put(age(w.heard(true)), age(w.heard(false)))
	flag(w.down, w.done, w.parked, w.closing, w.asked == nil)
	put(age(w.since), max(w.free-w.now, 0), w.haps)
	w.current.put(put, &b)
	for _, seq := range w.asked {
		put(index(seq))
	}
	for i := range w.runners {
		x := &w.runners[i^first]
		put(int(x.at), x.life, read(x.n), x.settled, index(x.intent), read(x.seen), age(x.since))
		flag(x.stopped, x.lapsed, x.last == w.seq)
		if x.at != idle {
			x.order.put(put, &b)
		}
	}
	for _, t := range w.truth {
		put(index(t.seq), t.run, t.declared)
		flag(t.made, t.over, t.idle, t.decided)
	}
	return string(b)
}

// heard returns what leases are judged by: when an owner of the current run last wrote a claim or a renewal, or anything at all.
func (w *state) heard(leased bool) int {
	for i := len(w.entries) - 1; i >= 0; i-- {
		if e := &w.entries[i]; e.Run == w.current.run && e.Owner != "" && (!leased || e.Lease > 0) {
			return int(e.Time.Sub(w.at(0)) / tick)
		}
	}
	return 0
}

func (o *order) put(put func(...int), b *[]byte) {
	put(o.run, o.resumes)
	for _, choice := range o.answers {
		*b = append(*b, choice...)
		put(-1)
	}
}

// renewal is true for a record that tells nothing but a time, which is part of the key anyway.
func renewal(e *run.Entry) bool { return e.Type == events.JournalRenewed && e.Lease > 0 }

// mostStates exceeds the size of the model, so that a change that makes it grow without bound is noticed at once.
const mostStates = 500_000

func TestEveryInterleavingKeepsTheProperties(t *testing.T) {
	for name, m := range map[string]*model{
		"a command, two runs": {announces: true, runs: 2},
		"a tool, three runs":  {runs: 3},
	} {
		t.Run(name, func(t *testing.T) {
			states, trace, err := explore(m, mostStates)
			if err != nil {
				t.Errorf("%v:\n%s", err, strings.Join(trace, "\n"))
			}
			t.Logf("%d states", states)
		})
	}
}

// Each safety is needed: without it, some history breaks a property.
func TestEachSafetyIsNeeded(t *testing.T) {
	for off, want := range map[string]string{
		offNames:    noneTwice,
		offCovers:   noneTwice,
		offAsk:      noneTwice,
		offFinished: noneAgain,
		offLineage:  noneAgain,
		offResult:   noneAsked,
		offNotBegun: noneAsked,
		offFence:    noneAsked,
		offExpect:   noClosedHeld,
		offLease:    noneTaken,
		offSince:    noneTaken,
		offLook:     noneClosed,
		offFresh:    noneTwice,
		offClosed:   noClosedHeld,
	} {
		t.Run(off, func(t *testing.T) {
			states, trace, err := explore(&model{announces: true, runs: 2, off: off}, mostStates)
			if err == nil {
				states, trace, err = explore(&model{runs: 2, off: off}, mostStates)
			}
			var broken *violation
			if !errors.As(err, &broken) || broken.property != want {
				t.Errorf("%v, want one of: %s\n%s", err, want, strings.Join(trace, "\n"))
			}
			t.Logf("after %d states: %v\n%s", states, err, strings.Join(trace, "\n"))
		})
	}
}
