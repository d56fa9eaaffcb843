package bus

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A server that cannot write, for example since its disk is full, refuses nothing: it only stops acknowledging what is published, stream
// by stream, and it still answers everything else. So the publisher keeps account of acknowledgements that did not come.

// Mute describes a server that is connected, and has stopped to acknowledge what is published. The zero value stands for one that
// acknowledges.
type Mute struct {
	// Subjects are the first two words of the subjects on which it acknowledges nothing, sorted.
	Subjects []string
	// Since is when the first message was sent that it has not acknowledged; Last when the latest one was given up.
	Since, Last time.Time
}

// MuteHint says what to do about a server that acknowledges nothing.
const MuteHint = "free room on the disk of the server, then restart it, since a server that could not write must be restarted"

// Is reports whether the server is mute.
func (m *Mute) Is() bool { return len(m.Subjects) > 0 }

// String is a sentence about it for people, "" if the server acknowledges.
func (m *Mute) String() string {
	if !m.Is() {
		return ""
	}
	return fmt.Sprintf("the server has acknowledged nothing on %s since %s; its disk may be full", strings.Join(m.Subjects, ", "), m.Since.UTC().Format(time.RFC3339))
}

// Mute says whether the server has stopped to acknowledge: two messages of a kind, of which the second was sent after the first had been
// given up, and none in between. The first acknowledgement of that kind ends it, and so does a new connection. Subjects restrict it to
// their kinds; without one all kinds count.
func (b *Bus) Mute(subjects ...string) Mute { return b.pub.mute(subjects) }

// probeBytes is the size of a probe: more than the server could add to what it has without more room.
const probeBytes = 8 << 10

// Probe finds out whether the server stores anything, by a message that disappears after a second. It tells nothing about a stream of
// another server. Errors: those of Publish; ErrUnknown says that the server has not acknowledged it.
func (s Streams) Probe(ctx context.Context) error {
	_, err := s.bus.PublishAsync(events.Message{
		Subject: s.bus.names.Prefix() + ".timer.~probe", Body: make([]byte, probeBytes), Header: map[string][]string{headerTTL: {time.Second.String()}},
	}, Expect{}).Wait(ctx)
	return err
}

// silence is what was not acknowledged of the messages of a kind.
type silence struct {
	since, last time.Time
	times       int
}

// muteAfter is how many messages must have been given up before their kind counts as mute.
const muteAfter = 2

// kindOf returns the first two words of a subject, which name a stream.
func kindOf(subject string) string {
	first, rest, _ := strings.Cut(subject, ".")
	second, _, _ := strings.Cut(rest, ".")
	return first + "." + second
}

// unheard records that a publish was given up. What was sent before the previous one was given up says nothing new: a server may be busy
// for a moment. The caller holds the lock.
func (p *publisher) unheard(w *waiting, now time.Time) {
	kind := kindOf(w.subject)
	s := p.silences[kind]
	if s == nil {
		s = &silence{since: w.sent}
		p.silences[kind] = s
	}
	if w.sent.Before(s.since) {
		s.since = w.sent
	}
	if w.sent.Before(s.last) {
		return
	}
	s.last = now
	if s.times++; s.times == muteAfter {
		p.logger.Warn("the server acknowledges nothing; is its disk full?", "subjects", kind, "since", s.since.UTC().Format(time.RFC3339))
	}
}

// heard records that a message was stored. The caller holds the lock.
func (p *publisher) heard(subject string) {
	if len(p.silences) == 0 {
		return
	}
	kind := kindOf(subject)
	if s := p.silences[kind]; s != nil && s.times >= muteAfter {
		p.logger.Info("the server acknowledges again", "subjects", kind)
	}
	delete(p.silences, kind)
}

// forget ends all silences: the server may be another one, or have been restarted.
func (p *publisher) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.silences)
}

func (p *publisher) mute(subjects []string) (m Mute) {
	asked := func(kind string) bool {
		return len(subjects) == 0 || slices.ContainsFunc(subjects, func(subject string) bool { return kindOf(subject) == kind })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for kind, s := range p.silences { // any order: the subjects are sorted below.
		if s.times < muteAfter || !asked(kind) {
			continue
		}
		if !m.Is() || s.since.Before(m.Since) {
			m.Since = s.since
		}
		if s.last.After(m.Last) {
			m.Last = s.last
		}
		m.Subjects = append(m.Subjects, kind)
	}
	slices.Sort(m.Subjects)
	return m
}
