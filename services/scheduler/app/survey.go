package app

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// surveyEvery is the time between two looks at the ends of the log. All saved states are read when one of them has moved as it only does
// when something was removed, or while something is missing, and at most a two-hundredth of the time is spent on it.
const (
	surveyEvery = time.Minute
	surveyPause = 200
)

// surveyor says on /readyz when the log lacks what saved states have seen. The process stays ready: to begin it again mends nothing.
type surveyor struct {
	bus     *bus.Bus
	process *host.Process
	seen    bus.StreamFacts
	lost    bool
	next    time.Time
}

// survey looks at once, and then from time to time.
func (r *scheduler) survey() host.Member {
	return host.Member{Name: "survey", Run: func(ctx context.Context, ready func()) error {
		ready()
		s := &surveyor{bus: r.bus, process: r.process}
		tick := time.NewTicker(surveyEvery)
		defer tick.Stop()
		for {
			if err := s.look(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, bus.ErrNotPermitted) {
				r.process.Log.Debug("saved states are not held against the log", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}}
}

// look reads the saved states if there is a reason to.
func (s *surveyor) look(ctx context.Context) error {
	now := time.Now()
	log, err := s.bus.StreamInfo(ctx, s.bus.Names().Log)
	if err != nil {
		return err
	}
	moved := !log.Created.Equal(s.seen.Created) || log.LastSeq < s.seen.LastSeq || log.FirstSeq != s.seen.FirstSeq || log.Messages < s.seen.Messages
	if !moved && !s.lost || now.Before(s.next) {
		s.seen.LastSeq, s.seen.Messages = max(s.seen.LastSeq, log.LastSeq), max(s.seen.Messages, log.Messages)
		return nil
	}
	found, err := s.bus.Survey(ctx)
	if err != nil {
		return err
	}
	s.seen, s.next = log, now.Add(surveyPause*time.Since(now))
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
			"hint", "restore the stream from a backup; `jobgraph fsck` tells each job, `jobgraph delete ID` gives one up")
	}
	s.lost = true
	return nil
}
