package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// surveyEvery is the time between two checks of the first and last sequence of the log. All saved states are read if these have moved
// in a way that only a removal of events explains, if events are missing, or if jobs may have moved to another scheduler. surveyPause
// bounds the cost: at most one part in surveyPause of the time is spent on reading states.
const (
	surveyEvery = time.Minute
	surveyPause = 200
)

// surveyor reports on /readyz if the log lacks events that saved states contain; the process stays ready, since a restart repairs
// nothing. It also retries jobs that a scheduler of another release has quarantined because it did not understand them: the scheduler
// that owns them now may understand them.
type surveyor struct {
	bus     *bus.Bus
	process *host.Process
	peers   *release.Gate
	seen    bus.StreamFacts
	lost    bool
	next    time.Time
	// live identifies the schedulers that were alive when such jobs were last retried; passed receives a value when this scheduler
	// takes over deliveries from another one.
	live   string
	passed chan struct{}
	stale  bool // passed has received a value since then.
	tries  tries
}

// survey checks at start and then at intervals.
func (r *scheduler) survey() host.Member {
	return host.Member{Name: "survey", Run: func(ctx context.Context, ready func()) error {
		ready()
		s := &surveyor{bus: r.bus, process: r.process, peers: r.peers, passed: r.passed}
		tick := time.NewTicker(surveyEvery)
		defer tick.Stop()
		for {
			r.gate.Closed(ctx) // Updates /readyz even if no request asks for admission.
			if err := s.look(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrNotPermitted) {
				r.process.Log.Debug("cannot compare saved states with the log", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			case <-s.passed:
				s.stale = true
			}
		}
	}}
}

// look reads all saved states if one of the reasons at surveyEvery applies.
func (s *surveyor) look(ctx context.Context) error {
	now := time.Now()
	log, err := s.bus.Streams().Info(ctx, s.bus.Names().Log)
	if err != nil {
		return err
	}
	moved := !log.Created.Equal(s.seen.Created) || log.LastSeq < s.seen.LastSeq || log.FirstSeq != s.seen.FirstSeq || log.Messages < s.seen.Messages
	live, known := s.peers.Live(ctx)
	others := s.stale || known && live != s.live
	if !moved && !s.lost && !others || now.Before(s.next) {
		s.seen.LastSeq, s.seen.Messages = max(s.seen.LastSeq, log.LastSeq), max(s.seen.Messages, log.Messages)
		return nil
	}
	found, err := s.bus.Streams().Survey(ctx)
	if err != nil {
		return err
	}
	s.seen, s.next = log, now.Add(surveyPause*time.Since(now))
	if s.tries.due(live, found.Unknown, now) {
		if err := s.takeUp(ctx, found.Unknown); err != nil {
			return err
		}
	}
	s.live, s.stale = live, false
	const note = "log"
	if len(found.Lost) == 0 {
		s.lost = false
		s.process.Health.Unnote(note)
		return nil
	}
	text := found.Text()
	s.process.Health.Note(note, text+"; `jobgraph fsck` tells each")
	if !s.lost {
		s.process.Log.Error("the log has lost events", "jobs", len(found.Lost), "what", text,
			"hint", "restore the stream from a backup; `jobgraph fsck` lists each job, `jobgraph delete ID` deletes one")
	}
	s.lost = true
	return nil
}

// takeUp makes the schedulers that own the jobs load them, by means of a timer that changes nothing. A scheduler that has itself
// quarantined a job ignores the timer.
func (s *surveyor) takeUp(ctx context.Context, jobs []string) error {
	acks := make([]bus.Ack, len(jobs))
	for i, job := range jobs {
		acks[i] = s.bus.Timers().Arm(job, graph.TurnTimer(), time.Now())
	}
	for i, ack := range acks {
		if _, err := ack.Wait(ctx); err != nil {
			return fmt.Errorf("take up job %s: %w", jobs[i], err)
		}
	}
	if len(jobs) > 0 {
		s.process.Log.Info("retrying quarantined jobs that this scheduler may understand", "count", len(jobs), "first", jobs[0])
	}
	return nil
}

// tries spaces out the attempts to resume the same jobs with the same schedulers alive: each attempt leaves an event in the log.
type tries struct {
	live string
	jobs []string
	wait time.Duration
	next time.Time
}

// The first and the longest time between two attempts.
const triesFirst, triesMost = time.Minute, 6 * time.Hour

// due reports whether the jobs should be tried now, and records the attempt.
func (t *tries) due(live string, jobs []string, now time.Time) bool {
	if live == t.live && slices.Equal(jobs, t.jobs) {
		if now.Before(t.next) {
			return false
		}
		t.wait = min(2*t.wait, triesMost)
	} else {
		t.live, t.jobs, t.wait = live, jobs, triesFirst
	}
	t.next = now.Add(t.wait)
	return true
}
