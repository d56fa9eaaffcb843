package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// The bounds of the conversation stream: conversationItems for each session, none older than conversationAge. Repeats within
// conversationWindow are dropped.
const (
	conversationItems  = 20_000
	conversationAge    = 180 * 24 * time.Hour
	conversationWindow = 10 * time.Minute
)

// conversations configures the stream of conversations.
func conversations(n events.Names) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: item.Stream(n), Description: "what was said in sessions", Subjects: []string{item.Subject(n, "*")},
		Discard: jetstream.DiscardOld, MaxMsgsPerSubject: conversationItems, MaxAge: conversationAge, Duplicates: conversationWindow,
	}
}

// Conversations are the records of what was said in sessions, in order. They are derived from the log: nothing depends on them.
type Conversations struct{ bus *Bus }

// Conversations returns the access to the records of sessions.
func (b *Bus) Conversations() Conversations { return Conversations{b} }

func (c Conversations) subject(session string) string {
	return item.Subject(c.bus.names, SessionKey(session))
}

// Message makes the message that stores an item in its session's conversation. A message with the same id is stored once.
func (c Conversations) Message(session, id string, said *item.Item) (events.Message, error) {
	body, err := json.Marshal(said)
	if err != nil {
		return events.Message{}, fmt.Errorf("encode item %s: %w", id, err)
	}
	return events.Message{Subject: c.subject(session), Body: body, Header: map[string][]string{events.HeaderMsgID: {id}}}, nil
}

// Exists reports whether this bus has the stream of conversations; a bus of an earlier release may lack it.
func (c Conversations) Exists(ctx context.Context) (bool, error) {
	_, err := c.bus.Streams().Info(ctx, item.Stream(c.bus.names))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Absent reports whether an error of Publish means that no stream has the subject.
func (Conversations) Absent(err error) bool { return errors.Is(err, errNoResponder) }

// Delete removes the conversation of a session. On a bus without the stream it does nothing.
func (c Conversations) Delete(ctx context.Context, session string) error {
	err := c.bus.Streams().Purge(ctx, item.Stream(c.bus.names), c.subject(session))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// After yields the items of a session after a sequence, in order, up to what the leader has when reading begins. It ends with the
// first error: ErrUnavailable or the context's.
func (c Conversations) After(ctx context.Context, session string, after uint64) iter.Seq2[item.Entry, error] {
	return func(yield func(item.Entry, error) bool) {
		err := c.bus.Log().read(ctx, item.Stream(c.bus.names), c.subject(session), after, func(s Stored, err error) bool {
			e, ok := entry(&s)
			return !ok || yield(e, err)
		})
		if err != nil && !errors.Is(err, ErrNotFound) {
			yield(item.Entry{}, fmt.Errorf("read conversation of session %s: %w", session, err))
		}
	}
}

// Follow yields the items of a session after a sequence, in order, and waits for more until the context ends.
func (c Conversations) Follow(ctx context.Context, session string, after uint64) (*Subscription, error) {
	s, _, err := c.bus.Log().follow(ctx, item.Stream(c.bus.names), []string{c.subject(session)}, FollowOptions{StartSeq: after + 1}, false)
	return s, err
}

// Item decodes a delivery of Follow; ok is false if it is not an item.
func (Conversations) Item(d *Delivery) (e item.Entry, ok bool) {
	return entry(&Stored{Message: d.Message(), Seq: d.Seq(), Time: d.Time()})
}

// entry decodes a stored item; ok is false for anything else, since any client may have written it.
func entry(s *Stored) (e item.Entry, ok bool) {
	if json.Unmarshal(s.Body, &e.Item) != nil || e.Type == "" {
		return e, false
	}
	e.Seq = s.Seq
	if e.At.IsZero() {
		e.At = s.Time
	}
	return e, true
}

// Page is part of a conversation.
type Page struct {
	// Items are in order, oldest first.
	Items []item.Entry `json:"items"`
	// Earlier is true if the conversation has items before the first of them.
	Earlier bool `json:"earlier,omitempty"`
}

// Page returns the last items of a session before a sequence; 0 means the newest. It does not read the items before them,
// however long the conversation is. Errors: ErrUnavailable.
func (c Conversations) Page(ctx context.Context, session string, before uint64, most int) (Page, error) {
	p := Page{Items: []item.Entry{}}
	stream, subject := item.Stream(c.bus.names), c.subject(session)
	last, err := c.bus.lastOf(ctx, stream, subject)
	if before > 0 {
		last = min(last, before-1)
	}
	if err != nil || last == 0 || most <= 0 {
		return p, missing(session, err)
	}
	from, earlier, err := c.start(ctx, stream, subject, last, uint64(most))
	if err == nil && from > 0 {
		err = c.bus.each(ctx, stream, subject, from, last, func(s Stored) bool {
			if e, ok := entry(&s); ok {
				p.Items = append(p.Items, e)
			}
			return true
		})
	}
	cut := max(0, len(p.Items)-most)
	p.Items, p.Earlier = p.Items[cut:], earlier || cut > 0
	return p, missing(session, err)
}

// missing returns nil for the error of a missing stream or message.
func missing(session string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("read conversation of session %s: %w", session, err)
}

// start finds the sequence to read from so that most messages, or a few more, remain up to last. It asks the server how many
// messages follow a sequence, and narrows the range between a sequence with too many and one with too few.
func (c Conversations) start(ctx context.Context, stream, subject string, last, most uint64) (from uint64, earlier bool, err error) {
	low, all, err := c.bus.follows(ctx, stream, subject, 1)
	if err != nil || low == 0 || low > last {
		return 0, false, err
	}
	_, rest, err := c.bus.follows(ctx, stream, subject, last+1)
	if err != nil || all-rest <= most {
		return low, false, err
	}
	have, high := all-rest, last+1 // low has too many after it, high none.
	for turn := 0; have > 4*most && high-low > 1 && turn < maxTurns; turn++ {
		guess := low + (high-low)/2
		if turn%2 == 0 { // Every other time it assumes that the messages are spread evenly, and aims at twice as many.
			guess = high - max(1, min(high-low-1, uint64(float64(high-low)*float64(2*most)/float64(have))))
		}
		at, n, err := c.bus.follows(ctx, stream, subject, guess)
		switch {
		case err != nil:
			return 0, false, err
		case at == 0 || n-min(n, rest) < most:
			high = guess
		default:
			low, have = max(at, guess), n-rest
		}
	}
	return low, true, nil
}

// maxTurns bounds the search for the beginning of a page.
const maxTurns = 48

// follows returns the first message at or after a sequence that matches a subject, and how many match from there on; 0 if none
// does. Any replica may answer.
func (b *Bus) follows(ctx context.Context, stream, subject string, seq uint64) (at, count uint64, err error) {
	body, err := json.Marshal(query{Seq: seq, NextFor: subject, Batch: 1})
	if err != nil {
		return 0, 0, err
	}
	reply, err := b.ask(ctx, apiPrefix+"DIRECT.GET."+stream, body)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, 0, ErrNotFound
	}
	if err != nil {
		return 0, 0, class(err)
	}
	pending := reply.Header[nextPending]
	s, ok := storedOf(reply)
	if !ok {
		return 0, 0, endOfBatch(reply)
	}
	if len(pending) > 0 {
		count, err = strconv.ParseUint(pending[len(pending)-1], 10, 64)
	}
	return s.Seq, count + 1, err
}

// nextPending is the header of a direct read that tells how many messages follow.
const nextPending = "Nats-Num-Pending"
