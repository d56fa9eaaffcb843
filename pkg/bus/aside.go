package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The stream of dead letters drops the oldest letters when it is full. So that no flood displaces what others have set aside, the
// largest groups of letters are reduced before that: requests, unsigned facts, the work of each pool, and the notices of each webhook
// are groups. With roles a runner has a scheduler store what it sets aside, because it could fill the stream otherwise.

const (
	// deadLook is how many dead letters a process stores between two checks of the stream.
	deadLook = 32
	// A stream that is fuller than deadHigh is reduced to deadLow, as fractions of its limit.
	deadHigh, deadLow = 0.8, 0.7
)

// asideQueue makes a process store its dead letters one after the other, since a flood of concurrent ones could fill
// the stream between two checks.
type asideQueue struct {
	free   chan struct{} // Holds one value while no letter is being stored.
	stored uint64        // How many this process has stored. Owned by the goroutine whose turn it is.
}

func newAsideQueue() *asideQueue {
	t := &asideQueue{free: make(chan struct{}, 1)}
	t.leave()
	return t
}

// enter waits until it is the caller's turn.
func (t *asideQueue) enter(ctx context.Context) error {
	select {
	case <-t.free:
		return nil
	case <-ctx.Done():
		return class(ctx.Err())
	}
}

func (t *asideQueue) leave() { t.free <- struct{}{} }

// aside is a message that is set aside; a runner sends it to a scheduler in this form.
type aside struct {
	Subject string              `json:"subject"`
	Seq     uint64              `json:"seq"`
	Stored  time.Time           `json:"stored,omitzero"`
	Reason  string              `json:"reason,omitempty"`
	Faults  string              `json:"faults,omitempty"`
	Header  map[string][]string `json:"header,omitempty"`
	Body    []byte              `json:"body,omitempty"`
	// Cut is true if the body was too large.
	Cut bool `json:"cut,omitempty"`
}

// cut leaves out headers and body.
func (a *aside) cut() { a.Cut, a.Header, a.Body = true, nil, nil }

// message returns the message that stores a dead letter of a kind.
func (l DeadLetters) message(kind string, a *aside) events.Message {
	header := maps.Clone(a.Header)
	if header == nil {
		header = map[string][]string{}
	}
	header[headerDeadSubject], header[headerDeadReason] = []string{a.Subject}, []string{a.Reason}
	header[headerDeadStored] = []string{a.Stored.Format(time.RFC3339Nano)}
	if a.Faults != "" {
		header[headerDeadFaults] = []string{a.Faults}
	}
	if a.Cut {
		header[headerDeadCut] = []string{"true"}
	}
	return events.Message{Subject: l.at(kind, a.Seq, workPool(kind, a.Subject)), Header: header, Body: a.Body}
}

// store stores a dead letter, without its body if that is too large. Errors: those of Publish, but for a letter that is there, and for a
// stream that does not exist or is full.
func (l DeadLetters) store(ctx context.Context, kind string, a *aside) error {
	if err := l.bus.asides.enter(ctx); err != nil {
		return err
	}
	defer l.bus.asides.leave()
	_, err := l.bus.PublishAsync(l.message(kind, a), ExpectNone()).Wait(ctx)
	if errors.Is(err, ErrTooLarge) {
		a.cut()
		_, err = l.bus.PublishAsync(l.message(kind, a), ExpectNone()).Wait(ctx)
	}
	if errors.Is(err, ErrConflict) || errors.Is(err, errNoResponder) || errors.Is(err, ErrFull) {
		return nil
	}
	if err == nil {
		if l.bus.asides.stored++; l.bus.asides.stored%deadLook == 1 {
			l.tidy(ctx)
		}
	}
	return err
}

// submit asks a scheduler to store work of a pool that this process may not store itself.
func (l DeadLetters) submit(ctx context.Context, pool string, a *aside) error {
	ask := func() error {
		_, err := l.bus.Services().submit(ctx, l.bus.names.Card(pool, asideKey), keeping{Op: keepAside, Aside: a})
		return err
	}
	err := ask()
	if errors.Is(err, ErrTooLarge) {
		a.cut()
		err = ask()
	}
	return err
}

// writeAside stores work that a runner of a pool sets aside.
func (s Services) writeAside(ctx context.Context, pool string, a *aside) error {
	l := s.bus.DeadLetters()
	if l.kind(a.Subject) != DeadWork || workPool(DeadWork, a.Subject) != pool {
		return fmt.Errorf("%w: %.200q is no work of pool %s", ErrRefused, a.Subject, pool)
	}
	maps.DeleteFunc(a.Header, func(name string, _ []string) bool { return !original(name) })
	a.Reason = deadReason(a.Reason)
	if len(a.Faults) > longestReason {
		a.Faults = ""
	}
	return l.store(ctx, DeadWork, a)
}

// tidy reduces the largest groups if the stream is nearly full. A process that may not remove any leaves that to
// others.
func (l DeadLetters) tidy(ctx context.Context) {
	stream := l.bus.names.Aside
	facts, err := l.bus.Streams().Info(ctx, stream)
	if err != nil || facts.MaxMessages <= 0 || float64(facts.Messages) <= deadHigh*float64(facts.MaxMessages) || l.bus.denials.known("tidy "+stream) {
		return
	}
	subjects, err := l.bus.Streams().Subjects(ctx, stream, l.bus.names.AllAside())
	groups := map[string]int{}
	for subject, n := range subjects {
		groups[l.group(subject)] += int(n)
	}
	least := level(slices.Collect(maps.Values(groups)), int(deadLow*float64(facts.MaxMessages)))
	for group, n := range groups { // any order: groups are independent.
		if err == nil && n > least {
			err = l.bus.Streams().keep(ctx, stream, group, least)
		}
	}
	if errors.Is(err, ErrNotPermitted) {
		l.bus.denials.note("tidy " + stream)
	} else if err != nil {
		l.bus.logger.Warn("cannot remove the oldest dead letters", "error", err)
	}
}

// group returns the subject filter of a dead letter's group: any sequence matches.
func (l DeadLetters) group(subject string) string {
	tokens := strings.Split(subject, ".")
	if len(tokens) > 3 {
		tokens[3] = "*"
	}
	return strings.Join(tokens, ".")
}

// level returns the size to which the largest parts must shrink so that all parts together do not exceed most; at least
// 1.
func level(parts []int, most int) int {
	slices.Sort(parts)
	for i, n := range parts {
		if left := len(parts) - i; n*left > most {
			return max(1, most/left)
		}
		most -= n
	}
	return math.MaxInt
}
