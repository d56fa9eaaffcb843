package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	apiPrefix = "$JS.API."
	// readBatch limits the messages of one range request, readBytes their bytes.
	readBatch = 1024
	readBytes = 8 << 20
	// readTimeout limits a read whose caller set no deadline.
	readTimeout = 5 * time.Second
)

// Stored is one message of a stream.
type Stored struct {
	events.Message
	// Seq is its sequence; Time is when it was stored.
	Seq  uint64
	Time time.Time
}

// query is the request of a read, with the fields of the JetStream API.
type query struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, readTimeout)
}

// leader reads one message from the stream's leader, so the result is never stale. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) leader(ctx context.Context, stream string, q query) (Stored, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Stored{}, err
	}
	reply, err := b.ask(ctx, apiPrefix+"STREAM.MSG.GET."+stream, body)
	if err != nil {
		return Stored{}, class(err)
	}
	var answer struct {
		Error   *refusal `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return Stored{}, fmt.Errorf("%w: answer is no JSON: %v", ErrUnavailable, err)
	}
	if answer.Error != nil {
		return Stored{}, answer.Error.err()
	}
	if answer.Message == nil {
		return Stored{}, fmt.Errorf("%w: answer without a message", ErrUnavailable)
	}
	m := answer.Message
	s := Stored{Message: events.Message{Subject: m.Subject, Body: m.Data}, Seq: m.Seq, Time: m.Time}
	if len(m.Header) > 0 {
		// Any client may have stored a malformed header; then the message is returned without one.
		s.Header, _ = nats.DecodeHeadersMsg(m.Header)
	}
	return s, nil
}

// direct reads one message from any replica, which may be behind.
func (b *Bus) direct(ctx context.Context, stream string, q query) (Stored, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Stored{}, err
	}
	reply, err := b.ask(ctx, apiPrefix+"DIRECT.GET."+stream, body)
	if errors.Is(err, nats.ErrNoResponders) {
		// The SDK reports this even for a message with an empty body and a status header of its own.
		return b.leader(ctx, stream, q)
	}
	if err != nil {
		return Stored{}, class(err)
	}
	s, ok := storedOf(reply)
	switch {
	case ok:
		return s, nil
	case unreadable(reply):
		return b.leader(ctx, stream, q)
	}
	return Stored{}, statusOf(reply)
}

// unreadable reports whether an answer is a message with a malformed header; the leader returns such a message in another
// form.
func unreadable(m *nats.Msg) bool { return m.Header.Get("Status") == "" }

// storedOf converts the answer of a direct read to the message; ok is false if the answer is an error. The server appends
// its headers to those of the message, which may have the same names.
func storedOf(m *nats.Msg) (s Stored, ok bool) {
	h := m.Header
	if len(h[jetstream.StreamHeader]) == 0 {
		return Stored{}, false
	}
	seq, err := strconv.ParseUint(takeLast(h, jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return Stored{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, takeLast(h, jetstream.TimeStampHeaer))
	if err != nil {
		return Stored{}, false
	}
	for _, name := range []string{jetstream.StreamHeader, jetstream.LastSequenceHeader, nextPending} {
		takeLast(h, name)
	}
	s = Stored{Message: events.Message{Subject: takeLast(h, jetstream.SubjectHeader), Body: m.Data}, Seq: seq, Time: at}
	s.Header = h
	return s, s.Subject != ""
}

// takeLast removes the last value of a header and returns it.
func takeLast(h nats.Header, name string) string {
	values := h[name]
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	if h[name] = values[:len(values)-1]; len(h[name]) == 0 {
		delete(h, name)
	}
	return last
}

func statusOf(m *nats.Msg) error {
	switch code := m.Header.Get("Status"); code {
	case "404":
		return ErrNotFound
	case "408", "412":
		return fmt.Errorf("%w: %s", ErrRefused, m.Header.Get("Description"))
	default:
		return fmt.Errorf("%w: status %.10q", ErrUnavailable, code)
	}
}

// each reads the messages that match a filter from sequence from to sequence to, in order, and calls f until it returns
// false. Both ends come from the leader; what a replica does not have yet is read from the leader.
func (b *Bus) each(ctx context.Context, stream, filter string, from, to uint64, f func(Stored) bool) error {
	for from <= to {
		next, more, err := b.batch(ctx, stream, filter, from, to, f)
		if err != nil || !more {
			return err
		}
		if next > from {
			from = next
			continue
		}
		s, err := b.leader(ctx, stream, query{Seq: from, NextFor: filter})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.Seq > to || !f(s) {
			return nil
		}
		from = s.Seq + 1
	}
	return nil
}

// batch reads one range with one request and returns the sequence to continue from; more is false if f wants no more.
func (b *Bus) batch(ctx context.Context, stream, filter string, from, to uint64, f func(Stored) bool) (next uint64, more bool, err error) {
	late, cancel := context.WithTimeout(ctx, readTimeout) // After that, the read is repeated from the last position.
	defer cancel()
	late, stop := b.denials.guard(late, apiPrefix+"DIRECT.GET."+stream)
	defer stop()
	body, err := json.Marshal(query{Seq: from, NextFor: filter, Batch: readBatch, MaxBytes: readBytes})
	if err != nil {
		return 0, false, err
	}
	inbox := b.nc.NewInbox()
	answers := make(chan *nats.Msg, readBatch+1)
	sub, err := b.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return 0, false, class(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // The rest of the batch is not needed.
	if err := b.nc.PublishRequest(apiPrefix+"DIRECT.GET."+stream, inbox, body); err != nil {
		return 0, false, class(err)
	}
	for next = from; ; {
		var m *nats.Msg
		select {
		case m = <-answers:
		case <-late.Done():
			return next, true, class(refusalIn(late, ctx.Err()))
		}
		s, ok := storedOf(m)
		if !ok && unreadable(m) {
			return next, true, nil
		}
		if !ok {
			return next, true, endOfBatch(m)
		}
		if s.Seq > to || !f(s) {
			return s.Seq, false, nil
		}
		next = s.Seq + 1
	}
}

// endOfBatch returns nil if the batch ended regularly, even without messages.
func endOfBatch(m *nats.Msg) error {
	if status := m.Header.Get("Status"); status == "204" || status == "404" {
		return nil
	}
	return statusOf(m)
}

// lastOf returns the sequence of the last message that matches a filter, from the leader; 0 if there is none.
func (b *Bus) lastOf(ctx context.Context, stream, filter string) (uint64, error) {
	s, err := b.leader(ctx, stream, query{LastFor: filter})
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return s.Seq, err
}
