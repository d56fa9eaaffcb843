package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The kinds of messages that are set aside.
const (
	AsideRequest = "request"
	AsideWork    = "work"
)

// Headers of a message that was set aside, beside its own.
const (
	headerAsideSubject = "Jobgraph-Subject"
	headerAsideReason  = "Jobgraph-Reason"
	headerAsideFaults  = "Jobgraph-Faults"
	headerAsideCut     = "Jobgraph-Cut"
)

// longestReason bounds the reason that is kept with a message, in bytes, and its faults as well: all headers of a message share one bound.
const longestReason = 16 << 10

// Aside is a message that nobody could handle, kept for people.
type Aside struct {
	// Kind is AsideRequest or AsideWork; Seq is where the message stood in its queue. Both together name it.
	Kind string
	Seq  uint64
	// Time is when it was set aside, Reason says why.
	Time   time.Time
	Reason string
	// Faults are the same one by one, where that is known, and the first of them when they are many.
	Faults events.Faults
	// Message is what was published, where it was published.
	Message events.Message
	// Whole is false when the body was too large to be kept.
	Whole bool
}

// ID names a message that was set aside; no job has such an id.
func (a *Aside) ID() string { return a.Kind + ":" + strconv.FormatUint(a.Seq, 10) }

// asideKind tells queued requests and work from other messages.
func (b *Bus) asideKind(subject string) string {
	switch {
	case subject == b.names.Request():
		return AsideRequest
	case strings.HasPrefix(subject, b.names.Prefix()+".work."):
		return AsideWork
	}
	return ""
}

// setAside keeps a copy of a delivery, once. On a bus that was made before there was a place for it, there is none.
func (b *Bus) setAside(d *Delivery, reason string, faults events.Faults) error {
	kind := b.asideKind(d.msg.Subject)
	if kind == "" {
		return nil
	}
	ctx, cancel := bounded(context.Background()) // A delivery is settled after the end of what it was for, too.
	defer cancel()
	own := map[string][]string{headerAsideSubject: {d.msg.Subject}, headerAsideReason: {asideReason(reason)}}
	if list := asideFaults(faults); list != "" {
		own[headerAsideFaults] = []string{list}
	}
	header := maps.Clone(own)
	for name, values := range d.msg.Header {
		if !strings.HasPrefix(name, "Jobgraph-") && !strings.HasPrefix(name, "Nats-") { // Nobody else says what was wrong.
			header[name] = values
		}
	}
	m := events.Message{Subject: b.names.SetAside(kind, d.seq), Header: header, Body: d.msg.Data}
	_, err := b.PublishAsync(m, ExpectNone()).Wait(ctx)
	if errors.Is(err, ErrTooLarge) {
		own[headerAsideCut] = []string{"true"}
		m.Header, m.Body = own, nil
		_, err = b.PublishAsync(m, ExpectNone()).Wait(ctx)
	}
	if err == nil || errors.Is(err, ErrConflict) || errors.Is(err, errNoResponder) || errors.Is(err, ErrFull) {
		return nil // Kept; kept before; no place for it.
	}
	return fmt.Errorf("set %s aside: %w", d.msg.Subject, err)
}

// asideReason makes one line of bounded length of a reason.
func asideReason(reason string) string {
	reason = strings.Join(strings.Fields(strings.ToValidUTF8(reason, "?")), " ")
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "")
	}
	return reason
}

// asideFaults are as many faults as there is room for, as JSON; empty for none.
func asideFaults(faults events.Faults) string {
	for n := len(faults); n > 0; n-- {
		if list, err := json.Marshal(faults[:n]); err == nil && len(list) <= longestReason {
			return string(list)
		}
	}
	return ""
}

// Asides lists what was set aside, the oldest first. Errors: ErrUnavailable, ErrNotPermitted.
func (b *Bus) Asides(ctx context.Context) ([]Aside, error) {
	last, err := b.lastOf(ctx, b.names.Aside, b.names.AllAside())
	if err != nil {
		return nil, fmt.Errorf("list what was set aside: %w", err)
	}
	var list []Aside
	err = b.each(ctx, b.names.Aside, b.names.AllAside(), 1, last, func(s Stored) bool {
		if a, ok := b.asideOf(s); ok {
			list = append(list, a)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list what was set aside: %w", err)
	}
	return list, nil
}

// FollowAside reads what was and will be set aside of a kind. Errors: ErrUnavailable, ErrNotPermitted.
func (b *Bus) FollowAside(ctx context.Context, kind string) (*Subscription, error) {
	s, _, err := b.follow(ctx, b.names.Aside, []string{b.names.Prefix() + ".dlq." + kind + ".>"}, FollowOptions{}, false)
	return s, err
}

// AsideBy finds what was set aside by its id. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) AsideBy(ctx context.Context, id string) (Aside, error) {
	kind, text, _ := strings.Cut(id, ":")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 || seq == math.MaxUint64 || kind != AsideRequest && kind != AsideWork {
		return Aside{}, fmt.Errorf("%.80q: %w", id, ErrNotFound)
	}
	s, err := b.leader(ctx, b.names.Aside, query{LastFor: b.names.SetAside(kind, seq)})
	if err != nil {
		return Aside{}, fmt.Errorf("read %s: %w", id, err)
	}
	a, ok := b.asideOf(s)
	if !ok {
		return Aside{}, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return a, nil
}

// DropAside forgets what was set aside under an id. That there is none is no error.
func (b *Bus) DropAside(ctx context.Context, a *Aside) error {
	return b.Purge(ctx, b.names.Aside, b.names.SetAside(a.Kind, a.Seq))
}

// asideOf reads a stored copy; ok is false for a message that is none.
func (b *Bus) asideOf(s Stored) (a Aside, ok bool) {
	rest, ok := strings.CutPrefix(s.Subject, b.names.Prefix()+".dlq.")
	kind, text, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return a, false
	}
	a = Aside{Kind: kind, Seq: seq, Time: s.Time, Reason: s.Get(headerAsideReason), Whole: s.Get(headerAsideCut) == ""}
	if json.Unmarshal([]byte(s.Get(headerAsideFaults)), &a.Faults) != nil {
		a.Faults = nil // The reason says it.
	}
	a.Message = events.Message{Subject: s.Get(headerAsideSubject), Header: map[string][]string{}, Body: s.Body}
	for name, values := range s.Header {
		if !strings.HasPrefix(name, "Jobgraph-") && !strings.HasPrefix(name, "Nats-") {
			a.Message.Header[name] = values
		}
	}
	return a, a.Message.Subject != ""
}
