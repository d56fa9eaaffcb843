package loop

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// reporter receives illegal moves: a test, or one of rapid.
type reporter interface {
	Errorf(format string, args ...any)
}

// strict returns settings for tests: an illegal move of a job fails the test.
func strict(t reporter, logger *slog.Logger) Settings {
	s := Default(events.NewNames(""), logger)
	s.Illegal = func(err error) { t.Errorf("illegal move: %v", err) }
	return s
}

// newTestCache makes a cache that collects illegal moves.
func newTestCache() (c *cache, illegal *[]error) {
	illegal = &[]error{}
	s := Default(events.NewNames(""), slog.New(slog.DiscardHandler))
	s.Illegal = func(err error) { *illegal = append(*illegal, err) }
	return newCache(newFacts(&env{Settings: s, now: time.Unix(1_000_000, 0)})), illegal
}

// allPhases returns the phases in order.
func allPhases() (list []phase) {
	for p := cold; p <= gone; p++ {
		list = append(list, p)
	}
	return list
}

func TestMovesOfAJobAreThoseOfItsTable(t *testing.T) {
	got := map[string][]string{}
	for _, from := range allPhases() {
		for _, to := range allPhases() {
			if from.may(to) {
				got[from.String()] = append(got[from.String()], to.String())
			}
		}
	}
	want := map[string][]string{
		"cold":            {"load queued", "ready", "quarantined", "gone"},
		"load queued":     {"loading"},
		"loading":         {"cold", "loading stale"},
		"loading stale":   {"cold"},
		"ready":           {"cold", "in flight", "gone"},
		"in flight":       {"ready", "in flight stale"},
		"in flight stale": {"cold"},
		"quarantined":     {"cold"},
	}
	musttest.Equal(t, want, got)
}

// In every phase, an illegal move is reported, costs the job its state and nothing else, and leaves the job in a phase from which
// pending results bring it back.
func TestAnIllegalMoveIsToldAndCostsTheJobItsState(t *testing.T) {
	after := map[phase]phase{
		cold: cold, loadQueued: loadQueued, loading: loadingStale, loadingStale: loadingStale, ready: cold, inFlight: inFlightStale,
		inFlightStale: inFlightStale, quarantined: quarantined, gone: gone,
	}
	for _, from := range allPhases() {
		for _, to := range allPhases() {
			if from.may(to) {
				continue
			}
			c, illegal := newTestCache()
			j := c.get("j")
			j.phase = from
			if from == ready || from == inFlight {
				j.state = &graph.Job{}
			}
			var told *illegalMove
			if c.move(j, to) || len(*illegal) != 1 || !errors.As((*illegal)[0], &told) {
				t.Errorf("%s to %s: told %v", from, to, *illegal)
			}
			if j.phase != after[from] || j.state != nil {
				t.Errorf("%s to %s: it is %s, with a state %v", from, to, j.phase, j.state != nil)
			}
		}
	}
}

// In production an illegal move is logged, and the job continues from its log.
func TestAJobGoesOnBehindAnIllegalMove(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.Illegal = nil
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	p.cache.move(p.cache.jobs["j"], quarantined)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	f.deliver(t, p, 4, true, f.add(events.KindSubJobReported, "b", 1, success))
	if !f.said("job.finished") {
		t.Errorf("said %q", f.published)
	}
}

func TestWhatIsDroppedIsTakenUpAgainFromWhereItStood(t *testing.T) {
	for _, test := range []struct{ from, dropped, back phase }{
		{ready, cold, cold}, {inFlight, inFlightStale, cold}, {loading, loadingStale, cold},
	} {
		c, illegal := newTestCache()
		j := c.get("j")
		j.phase = test.from
		c.drop(j)
		dropped := j.phase
		switch dropped {
		case inFlightStale:
			c.acked(j)
		case loadingStale:
			if c.loaded(j) {
				t.Error("what was read before the state was dropped is used")
			}
		}
		if dropped != test.dropped || j.phase != test.back || len(*illegal) > 0 {
			t.Errorf("%s: %s, then %s; %v", test.from, dropped, j.phase, *illegal)
		}
	}
}

func TestAGapDropsWhatIsAtRestAndKeepsWhatIsUnderWay(t *testing.T) {
	c, _ := newTestCache()
	for _, from := range []phase{cold, ready, inFlight, loading, quarantined} {
		c.get(from.String()).phase = from
	}
	c.ended.add("ended", 7)
	c.dropAll()
	got := map[string]string{}
	for id, j := range c.jobs {
		got[id] = j.phase.String()
	}
	want := map[string]string{"in flight": "in flight stale", "loading": "loading stale", "quarantined": "quarantined"}
	musttest.Equal(t, want, got)
	if c.settles(&events.Event{Job: "ended", Seq: 7}) {
		t.Error("the end of a job is remembered behind a gap")
	}
}

func TestOnlyWhatIsQuietIsEvicted(t *testing.T) {
	c, _ := newTestCache()
	c.CacheJobs = 3
	quiet := c.now.Add(-2 * time.Minute)
	for i := range 2 {
		j := c.get(fmt.Sprint("quiet", i))
		j.phase, j.used = ready, quiet
	}
	for id, make := range map[string]func(j *job){
		"just used":   func(j *job) { j.phase, j.used = ready, c.now },
		"in flight":   func(j *job) { j.phase = inFlight },
		"quarantined": func(j *job) { j.phase = quarantined },
		"unsaved":     func(j *job) { j.phase, j.save.changes = ready, 1 },
		"unacked":     func(j *job) { j.phase, j.acks.open = ready, []*unacked{{}} },
		"tried again": func(j *job) { j.retry.at = c.now },
		"dirty":       func(j *job) { j.phase, j.dirty = ready, true },
	} {
		j := c.get(id)
		j.used = quiet
		make(j)
	}
	c.evict()
	if len(c.jobs) != 7 || c.jobs["quiet0"] != nil || c.jobs["quiet1"] != nil {
		t.Errorf("left in memory: %v", c.jobs)
	}
	c.CacheJobs = 9
	c.get("more").used = quiet
	c.evict()
	if c.jobs["more"] == nil {
		t.Error("evicted although there is room")
	}
}
