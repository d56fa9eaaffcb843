//go:build sweep

package endtoend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// safety is a mechanism that the promises of the engine depend on. It is switched off on the wire between a service and the
// server, so that the services need no switch for it.
type safety struct {
	name string
	// services are those whose messages are changed; of a killed victim, only those of its successor.
	services []string
	change   func(f *frame)
	// scene and victim are where its absence must show; pause is how the victim is struck.
	scene, victim string
	pause         bool
}

// The streams and subjects that the safeties are about.
const (
	eventSubjects   = "jobs.event."
	workSubjects    = "jobs.work."
	journalSubjects = "jobs.journal."
	nowhere         = "jobs.nowhere."
	cancels         = "jobs.cancel."
)

func safeties() []safety {
	return []safety{
		{
			name: "dedupe", services: []string{schedulerName, plannerName, runnerName}, scene: "pure", victim: schedulerName, pause: true,
			change: func(f *frame) {
				// An expectation about another subject keeps an end from overtaking a stop, which is not part of this
				// safety.
				other := bytes.Contains(f.header, []byte("Nats-Expected-Last-Subject-Sequence-Subject: "))
				if !other && (strings.HasPrefix(f.subject, eventSubjects) || strings.HasPrefix(f.subject, workSubjects)) {
					f.drop("Nats-Expected-Last-Subject-Sequence: 0")
					f.drop("Nats-Msg-Id: ")
				}
			},
		},
		{
			name: "claim", services: []string{runnerName}, scene: "chain", victim: runnerName,
			change: func(f *frame) {
				if strings.HasPrefix(f.subject, journalSubjects) {
					f.drop("Nats-Expected-Last-Subject-Sequence: ")
				}
				f.blind("JOBS_JOURNAL", journalSubjects)
			},
		},
		{
			name: "catch-up", services: []string{schedulerName}, scene: "diamond", victim: schedulerName,
			change: func(f *frame) { f.blind("JOBS", eventSubjects) },
		},
		{
			name: "fence", services: []string{schedulerName}, scene: "chain", victim: runnerName, pause: true,
			change: func(f *frame) {
				if strings.HasPrefix(f.subject, journalSubjects) {
					f.subject = journalSubjects + "nobody" + f.subject[strings.LastIndexByte(f.subject, '.'):]
					f.drop("Nats-Expected-Last-Subject-Sequence: ")
				}
			},
		},
	}
}

// blind makes a read of a stream by subject return nothing.
func (f *frame) blind(stream, subjects string) {
	if strings.HasPrefix(f.subject, "$JS.API.") && strings.HasSuffix(f.subject, ".GET."+stream) {
		f.body = bytes.ReplaceAll(f.body, []byte(`_by_subj":"`+subjects), []byte(`_by_subj":"`+nowhere))
	}
}

// through connects services over wires that lack a safety.
func (s *system) through(off *safety, unheard bool) func(service, id string) *bus.Bus {
	victims := 0
	return func(service, id string) *bus.Bus {
		lacks := off != nil && slices.Contains(off.services, service)
		if lacks && service == off.victim {
			victims++
			lacks = off.pause || victims > 1
		}
		options := s.Server.Options(id)
		options.InProcess = &wire{server: s.Server, change: func(f *frame) {
			if unheard && service == runnerName {
				// Drop the cancellation of a run on its way to a runner, since core NATS does not guarantee delivery.
				if f.verb == "SUB" && strings.HasPrefix(f.subject, cancels) {
					f.subject = nowhere + ">"
				}
			}
			if lacks {
				off.change(f)
			}
		}}
		b, err := bus.Connect(s.Context(), options)
		if err != nil {
			s.Fatalf("connect %s: %v", id, err)
		}
		s.Cleanup(b.Close)
		return b
	}
}

// interrupt stops the job while a runner is paused, and recovers it for another. A play with fewer boundaries continues
// undisturbed.
func (s *system) interrupt(trap *trap) {
	select {
	case <-trap.sprung:
	case <-time.After(s.Patience / 2):
		return
	}
	s.say("j", events.KindStopRequested, "p", &events.StopRequested{})
	stopped := false
	s.Await(s.Names.JobEvents("j"), func(e events.Event) bool {
		d, ended := e.Data.(*events.JobEnded)
		stopped = ended && d.Status == events.Stopped
		return ended
	})
	if stopped {
		s.say("j", events.KindRecoverRequested, "p", &events.RecoverRequested{})
	}
}

// late resumes the paused service when all is over, and checks that it does no harm: no call is made, no run is executed
// again because of it, nothing is published twice, and the end stays the same.
func (s *system) late(trap *trap, victim string) {
	facts := func() []string {
		s.mu.Lock()
		list := []string{fmt.Sprint("calls ", s.calls)}
		if victim == schedulerName {
			list = append(list, fmt.Sprint("executions ", s.runs))
		}
		s.mu.Unlock()
		return append(list, fmt.Sprint("outcome ", s.outcome("j")), fmt.Sprint("repeats ", s.repeats("j")))
	}
	before := facts()
	trap.wake()
	<-time.After(time.Minute)
	synctest.Wait()
	if diff := cmp.Diff(before, facts()); diff != "" {
		s.Errorf("a %s that woke late did harm (-before +after):\n%s", victim, diff)
	}
}

// repeats returns the subjects of the job's log with more than one event, where only one is allowed.
func (s *system) repeats(job string) (list []string) {
	seen := map[string]bool{}
	for m, err := range s.Bus.Log().StoredOf(s.Context(), job, 0) {
		if err != nil {
			s.Fatalf("read log: %v", err)
		}
		told := strings.Contains(m.Subject, ".subjob.started.") || strings.HasSuffix(m.Subject, ".control")
		if seen[m.Subject] && !told {
			list = append(list, m.Subject)
		}
		seen[m.Subject] = true
	}
	return list
}

func sceneOf(t *testing.T, name string) *scene {
	t.Helper()
	for _, c := range scenes() {
		if c.name == name {
			return &c
		}
	}
	t.Fatalf("no scene %q", name)
	return nil
}

// TestAPausedRunnerOfAClosedRunDoesNothingAnyMore pauses a runner at every boundary while its job is stopped and recovered.
// It receives neither, and resumes when another one has done the work.
func TestAPausedRunnerOfAClosedRunDoesNothingAnyMore(t *testing.T) {
	c := sceneOf(t, "chain")
	calm := c.play(t, play{victim: runnerName})
	for k := 1; k <= len(calm.points); k++ {
		got := c.play(t, play{victim: runnerName, nth: k, pause: true})
		if faults := got.against(calm); len(faults) > 0 {
			t.Fatalf("paused at boundary %d of %d (%v): %s", k, len(calm.points), got.points[len(got.points)-1:], faults)
		}
	}
	t.Logf("%d points", len(calm.points))
}

// TestTheSweepFailsWithoutASafety switches off each safety in turn: a sweep that passes without a safety proves nothing.
func TestTheSweepFailsWithoutASafety(t *testing.T) {
	for _, off := range safeties() {
		t.Run(off.name, func(t *testing.T) {
			c := sceneOf(t, off.scene)
			calm := c.play(t, play{victim: off.victim})
			if unharmed := c.play(t, play{victim: off.victim, off: &off}); len(unharmed.against(calm)) > 0 {
				t.Fatalf("without a crash: %s", unharmed.faults)
			}
			for k := 1; k <= len(calm.points); k++ {
				got := c.play(t, play{victim: off.victim, nth: k, off: &off, pause: off.pause})
				faults := got.against(calm)
				if len(faults) == 0 {
					continue
				}
				t.Logf("seen at boundary %d of %d: %.500s", k, len(calm.points), faults[0])
				with := c.play(t, play{victim: off.victim, nth: k, pause: off.pause})
				if faults := with.against(calm); len(faults) > 0 {
					t.Errorf("it fails with the safety, too: %s", faults)
				}
				return
			}
			t.Errorf("the sweep passes %d boundaries without %s", len(calm.points), off.name)
		})
	}
}
