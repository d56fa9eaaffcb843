package release

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// source is a bus on which instances come and go.
type source struct {
	mu    sync.Mutex
	peers []bus.Peer
	takes time.Duration
	err   error
	asked int
}

func (s *source) Peers(ctx context.Context, _ string, each func(bus.Peer)) error {
	s.mu.Lock()
	s.asked++
	takes := s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	peers, err := s.peers, s.err
	s.mu.Unlock()
	for _, p := range peers {
		each(p)
	}
	if err == nil {
		<-time.After(lingers) // Instances may still answer.
	}
	return err
}

// lingers is how long a source waits for more instances.
const lingers = 250 * time.Millisecond

func (s *source) set(takes time.Duration, err error, peers ...bus.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.err, s.peers = takes, err, peers
}

// knower is an instance that knows decision rules up to a version, or declares none for 0.
func knower(id string, rules int) bus.Peer {
	if rules == 0 {
		return bus.Peer{ID: id}
	}
	return bus.Peer{ID: id, Metadata: Levels{Rules: rules}.Metadata()}
}

const silentRules = 4

func gated(t *testing.T, f func(t *testing.T, s *source, g *Gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &source{}
		g := NewGate(s, Scheduler, slog.New(slog.DiscardHandler))
		defer g.Close()
		f(t, s, g)
	})
}

func TestALevelIsTheLeastOfAllLiveInstances(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		want := func(level int, when string) {
			t.Helper()
			<-time.After(most)
			if got := g.Level(t.Context(), Rules); got != level {
				t.Errorf("%s: %d, want %d", when, got, level)
			}
		}
		s.set(0, nil, knower("a", events.RulesVersion), knower("b", 2))
		want(2, "beside one of older rules")
		s.set(0, nil, knower("a", events.RulesVersion))
		want(2, "when it does not answer for a moment")
		<-time.After(remembered)
		want(events.RulesVersion, "when it is gone")
		s.set(0, nil, knower("a", events.RulesVersion+7))
		<-time.After(remembered)
		want(events.RulesVersion, "beside one of newer rules")
		s.set(0, nil, knower("a", events.RulesVersion), knower("b", 0))
		<-time.After(most)
		g.Level(t.Context(), Rules) // The first reading that finds b: its caller gets the levels of the instances known before.
		want(min(silentRules, events.RulesVersion), "beside one that declares nothing")
	})
}

func TestWhatCannotBeFoundOutIsNotDeclaredAndHoldsNobodyUp(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		s.set(time.Hour, nil, knower("a", 2))
		begun := time.Now()
		for range 100 {
			if got := g.Level(t.Context(), Rules); got != silentRules {
				t.Fatalf("%d without an answer, want %d", got, silentRules)
			}
		}
		if took := time.Since(begun); took > bound {
			t.Errorf("a bus that does not answer holds up for %s, want %s", took, bound)
		}
		<-time.After(time.Minute)
		begun = time.Now()
		if g.Level(t.Context(), Rules); time.Since(begun) > 0 {
			t.Errorf("a bus that has not answered holds up for %s more", time.Since(begun))
		}
		<-time.After(bound)
		s.set(0, nil, knower("a", 2))
		<-time.After(pause * bound)
		g.Level(t.Context(), Rules)
		<-time.After(time.Second)
		if got := g.Level(t.Context(), Rules); got != 2 {
			t.Errorf("%d when the bus answers again, want 2", got)
		}
	})
}

func TestReadingsDoNotGrowWithThoseWhoAsk(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		s.set(10*time.Millisecond, nil, knower("a", 3))
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for range 100 {
					if got := g.Level(t.Context(), Rules); got != 3 {
						t.Errorf("level %d, want 3", got)
					}
					<-time.After(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		if s.asked > 12 {
			t.Errorf("%d readings in ten seconds", s.asked)
		}
	})
}

// The first caller after a quiet hour waits for the instances that were known before, and for further ones only if one of them is
// gone.
func TestAnAnswerIsThereWhenAllHaveAnsweredOfWhomIsKnown(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		takes := func() time.Duration {
			<-time.After(time.Hour)
			begun := time.Now()
			g.Level(t.Context(), Rules)
			return time.Since(begun)
		}
		s.set(time.Millisecond, nil, knower("a", 3), knower("b", 3))
		if took := takes(); took < lingers {
			t.Errorf("the first answer was there after %s", took)
		}
		if took := takes(); took > time.Millisecond {
			t.Errorf("an answer took %s", took)
		}
		s.set(time.Millisecond, nil, knower("a", 3), knower("b", 3), knower("c", 2))
		if took := takes(); took > time.Millisecond {
			t.Errorf("an answer took %s, with a new instance", took)
		}
		<-time.After(2 * lingers)
		if got := g.Level(t.Context(), Rules); got != 2 {
			t.Errorf("level %d, want that of the new instance", got)
		}
		s.set(time.Millisecond, nil, knower("a", 3))
		if took := takes(); took < lingers {
			t.Errorf("an answer took %s although two did not answer", took)
		}
	})
}

// A busy machine is no reason for older rules: a failed reading changes nothing about what was heard before.
func TestWhatWasHeardCountsForAMinuteWhileReadingsFail(t *testing.T) {
	for name, fail := range map[string]func(s *source){
		"slow":   func(s *source) { s.set(time.Hour, nil) },
		"away":   func(s *source) { s.set(0, bus.ErrUnavailable) },
		"nobody": func(s *source) { s.set(0, bus.ErrNobody) },
	} {
		t.Run(name, func(t *testing.T) {
			gated(t, func(t *testing.T, s *source, g *Gate) {
				s.set(0, nil, knower("a", events.RulesVersion))
				heard := time.Now()
				g.Level(t.Context(), Rules)
				fail(s)
				for time.Since(heard) < kept-patient-time.Millisecond {
					begun := time.Now()
					if got := g.Level(t.Context(), Rules); got != events.RulesVersion {
						t.Fatalf("%d after %s, want %d", got, time.Since(heard), events.RulesVersion)
					}
					if took := time.Since(begun); took > patient {
						t.Fatalf("it took %s", took)
					}
					<-time.After(10 * time.Millisecond)
				}
				<-time.After(kept - time.Since(heard))
				if got := g.Level(t.Context(), Rules); got != silentRules {
					t.Errorf("%d after %s, want %d", got, time.Since(heard), silentRules)
				}
			})
		})
	}
}

// A process asks before it has declared itself: it waits until it hears itself.
func TestTheFirstReadingLastsUntilAnInstanceAnswers(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		s.set(0, bus.ErrNobody)
		declares := time.AfterFunc(3*time.Second, func() { s.set(0, nil, knower("a", events.RulesVersion)) })
		defer declares.Stop()
		if got := g.Level(t.Context(), Rules); got != events.RulesVersion {
			t.Errorf("%d, want %d", got, events.RulesVersion)
		}
	})
	gated(t, func(t *testing.T, s *source, g *Gate) {
		s.set(0, bus.ErrNobody)
		begun := time.Now()
		for range 100 {
			if got := g.Level(t.Context(), Rules); got != silentRules {
				t.Fatalf("%d of no instance, want %d", got, silentRules)
			}
		}
		if took := time.Since(begun); took > bound {
			t.Errorf("no instance holds up for %s, want %s", took, bound)
		}
	})
}

// An instance of a release reads what another instance of it declares, for every line of the table.
func TestWhatIsDeclaredIsRead(t *testing.T) {
	for _, l := range table() {
		if got := declared(l.by, Of(l.by).Metadata())[l.of]; got != l.level {
			t.Errorf("%s of %s: %d is read, %d was declared", l.of, l.by, got, l.level)
		}
		if got := declared(l.by, nil)[l.of]; got != l.silent || got > l.level {
			t.Errorf("%s of %s: %d for one that declares nothing", l.of, l.by, got)
		}
	}
}

func TestWhoLivesIsNamed(t *testing.T) {
	gated(t, func(t *testing.T, s *source, g *Gate) {
		s.set(0, bus.ErrNobody)
		if ids, known := g.Live(t.Context()); ids != "" || known {
			t.Errorf("%q, %t of no instance", ids, known)
		}
		s.set(0, nil, knower("b", 3), knower("a", 0))
		<-time.After(pause * bound)
		g.Live(t.Context()) // It does not wait after a failure.
		<-time.After(most)
		if ids, known := g.Live(t.Context()); ids != "a b" || !known {
			t.Errorf("%q, %t", ids, known)
		}
	})
}
