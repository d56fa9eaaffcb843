package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// The kinds of messages that are dead-lettered.
const (
	DeadRequest = "request"
	DeadWork    = "work"
	DeadWebhook = "webhook"
	DeadFact    = "fact" // An answer or a control event without a signature that counts.
)

// Additional headers of a dead letter.
const (
	headerDeadSubject = "Jobgraph-Subject"
	headerDeadStored  = "Jobgraph-Stored"
	headerDeadReason  = "Jobgraph-Reason"
	headerDeadFaults  = "Jobgraph-Faults"
	headerDeadCut     = "Jobgraph-Cut"
)

// longestReason limits the stored reason in bytes, and also the faults: all headers of a message share one limit.
const longestReason = 16 << 10

// DeadLetter is a message that no service could handle, kept for inspection.
type DeadLetter struct {
	// Kind is DeadRequest, DeadWork, DeadFact or DeadWebhook; Seq is the message's sequence in its queue (for a webhook, that of
	// the event in the log), and Target is the webhook, or the pool of work. Together they identify it.
	Kind   string
	Seq    uint64
	Target string
	// Time is when it was dead-lettered, Reason says why.
	Time   time.Time
	Reason string
	// Faults lists the reasons one by one, if known; if there are too many, only the first.
	Faults events.Faults
	// Message is the original message with its original subject. Stored is when its queue stored it; zero if unknown.
	Message events.Message
	Stored  time.Time
	// Whole is false if the body was too large to keep.
	Whole bool
}

// ID returns the id of the dead letter; no job can have the same id.
func (a *DeadLetter) ID() string {
	id := a.Kind + ":" + strconv.FormatUint(a.Seq, 10)
	if a.Target != "" {
		id += ":" + a.Target
	}
	return id
}

// at is the subject of a dead letter.
func (l DeadLetters) at(kind string, seq uint64, target string) string {
	subject := l.bus.names.SetAside(kind, seq)
	if target != "" {
		subject += "." + target
	}
	return subject
}

// DeadLetters holds requests and work that no service could handle.
type DeadLetters struct{ bus *Bus }

// kind distinguishes queued requests, queued work and other messages.
func (l DeadLetters) kind(subject string) string {
	switch {
	case subject == l.bus.names.Request():
		return DeadRequest
	case strings.HasPrefix(subject, l.bus.names.Prefix()+".work."):
		return DeadWork
	case strings.HasPrefix(subject, l.bus.names.Prefix()+".event."):
		return DeadFact
	}
	return ""
}

// add stores a copy of a delivery, once. The bus of an earlier release has no stream for it; then nothing is stored.
func (l DeadLetters) add(d *Delivery, reason string, faults events.Faults) error {
	kind := l.kind(d.msg.Subject)
	if kind == "" {
		return nil
	}
	ctx, cancel := bounded(context.Background()) // A delivery is settled even after the end of its context.
	defer cancel()
	a := aside{Subject: d.msg.Subject, Seq: d.seq, Stored: d.Time(), Reason: deadReason(reason), Faults: deadFaults(faults), Header: map[string][]string{}, Body: d.msg.Data}
	for name, values := range d.msg.Header {
		if original(name) { // Clients must not set the other headers.
			a.Header[name] = values
		}
	}
	pool := workPool(kind, a.Subject)
	err := ErrNotPermitted
	if pool == "" || !l.bus.denials.known(l.bus.names.Aside) {
		err = l.store(ctx, kind, &a)
	}
	if pool != "" && errors.Is(err, ErrNotPermitted) {
		l.bus.denials.note(l.bus.names.Aside)
		err = l.submit(ctx, pool, &a)
	}
	if err != nil {
		return fmt.Errorf("dead-letter %s: %w", d.msg.Subject, err)
	}
	return nil
}

// original reports whether a header of a dead letter belongs to the original message.
func original(header string) bool {
	return header == seal.Header || !strings.HasPrefix(header, "Jobgraph-") && !strings.HasPrefix(header, "Nats-")
}

// workPool returns the pool of queued work, "" for anything else and for pools of the engine: an identity that may take work from a
// pool may set it aside.
func workPool(kind, subject string) string {
	pool, _ := batch.Of(nthToken(subject, 2))
	if kind != DeadWork || !events.ValidToken(pool) {
		return ""
	}
	return pool
}

// deadReason converts a reason to one line of limited length.
func deadReason(reason string) string {
	reason = strings.Join(strings.Fields(strings.ToValidUTF8(reason, "?")), " ")
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "")
	}
	return reason
}

// deadFaults encodes as many faults as fit, as JSON; "" for none.
func deadFaults(faults events.Faults) string {
	for n := len(faults); n > 0; n-- {
		if list, err := json.Marshal(faults[:n]); err == nil && len(list) <= longestReason {
			return string(list)
		}
	}
	return ""
}

// List lists the dead letters, oldest first. Errors: ErrUnavailable, ErrNotPermitted.
func (l DeadLetters) List(ctx context.Context) ([]DeadLetter, error) {
	last, err := l.bus.lastOf(ctx, l.bus.names.Aside, l.bus.names.AllAside())
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	var list []DeadLetter
	err = l.bus.each(ctx, l.bus.names.Aside, l.bus.names.AllAside(), 1, last, func(s Stored) bool {
		if a, ok := l.decode(s); ok {
			list = append(list, a)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return list, nil
}

// Follow reads the dead letters of a kind, present and future. Errors: ErrUnavailable, ErrNotPermitted.
func (l DeadLetters) Follow(ctx context.Context, kind string) (*Subscription, error) {
	s, _, err := l.bus.Log().follow(ctx, l.bus.names.Aside, []string{l.bus.names.Prefix() + ".dlq." + kind + ".>"}, FollowOptions{}, false)
	return s, err
}

// Get finds a dead letter by its id. Errors: ErrNotFound, ErrUnavailable.
func (l DeadLetters) Get(ctx context.Context, id string) (DeadLetter, error) {
	kind, text, _ := strings.Cut(id, ":")
	text, target, _ := strings.Cut(text, ":")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 || seq == math.MaxUint64 || !identifies(kind, target) {
		return DeadLetter{}, fmt.Errorf("%.80q: %w", id, ErrNotFound)
	}
	s, err := l.bus.leader(ctx, l.bus.names.Aside, query{LastFor: l.at(kind, seq, target)})
	if err != nil {
		return DeadLetter{}, fmt.Errorf("read %s: %w", id, err)
	}
	a, ok := l.decode(s)
	if !ok {
		return DeadLetter{}, fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return a, nil
}

// identifies reports whether there can be a dead letter of a kind for a target.
func identifies(kind, target string) bool {
	switch kind {
	case DeadRequest, DeadFact:
		return target == ""
	case DeadWork:
		return target == "" || events.ValidToken(target)
	case DeadWebhook:
		return events.ValidToken(target)
	}
	return false
}

// Requeue publishes work or a notice again on its subject, and removes the dead letter. Errors: ErrRefused for any other letter, and
// for one whose subject does not match its pool or target, since only an identity without rights to that subject would have written
// it; those of Publish.
func (l DeadLetters) Requeue(ctx context.Context, a *DeadLetter) error {
	subject := a.Message.Subject
	pool := nthToken(subject, 2)
	mine := l.kind(subject) == DeadWork && pool != WebhookPool && (a.Target == "" || a.Target == workPool(DeadWork, subject))
	if a.Kind == DeadWebhook {
		mine = l.kind(subject) == DeadWork && pool == WebhookPool && a.Target == nthToken(subject, 3)
	}
	if !mine || a.Kind != DeadWork && a.Kind != DeadWebhook {
		return fmt.Errorf("%w: %s is no message on %s", ErrRefused, a.ID(), subject)
	}
	if _, err := l.bus.Publish(ctx, a.Message, ExpectNone()); err != nil {
		return err
	}
	return l.Drop(ctx, a)
}

// Signer is like Delivery.Signer, for the sender of a request that was set aside.
func (l DeadLetters) Signer(a *DeadLetter) (who *seal.Signer, asked bool, err error) {
	return l.bus.sealing.signer(&a.Message, a.Stored)
}

// Drop removes a dead letter. Removing one that does not exist is not an error.
func (l DeadLetters) Drop(ctx context.Context, a *DeadLetter) error {
	return l.bus.Streams().Purge(ctx, l.bus.names.Aside, l.at(a.Kind, a.Seq, a.Target))
}

// decode reads a stored copy; ok is false if the message is not a dead letter.
func (l DeadLetters) decode(s Stored) (a DeadLetter, ok bool) {
	rest, ok := strings.CutPrefix(s.Subject, l.bus.names.Prefix()+".dlq.")
	kind, text, _ := strings.Cut(rest, ".")
	text, target, _ := strings.Cut(text, ".")
	seq, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return a, false
	}
	a = DeadLetter{Kind: kind, Seq: seq, Target: target, Time: s.Time, Reason: s.Get(headerDeadReason), Whole: s.Get(headerDeadCut) == ""}
	if json.Unmarshal([]byte(s.Get(headerDeadFaults)), &a.Faults) != nil {
		a.Faults = nil // Reason contains the faults as text.
	}
	if at, err := time.Parse(time.RFC3339Nano, s.Get(headerDeadStored)); err == nil {
		a.Stored = at
	}
	a.Message = events.Message{Subject: s.Get(headerDeadSubject), Header: map[string][]string{}, Body: s.Body}
	for name, values := range s.Header {
		if original(name) {
			a.Message.Header[name] = values
		}
	}
	return a, a.Message.Subject != ""
}
