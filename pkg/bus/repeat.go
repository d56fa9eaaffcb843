package bus

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A stream drops a message whose id it has seen, whatever the message is and no matter who published the first one with that id. Ids of facts
// and requests can be predicted, so a program that may publish anything into the stream could use them first. A message that was dropped as
// the repeat of a different one is therefore published again under an id that cannot be predicted. Into the stream of work only the engine
// publishes (see PutBack): a message that its runner has settled is gone, and cannot be compared.

// named is a message with an id, kept until its acknowledgement has come.
type named struct {
	message events.Message
	expect  Expect

	mu      sync.Mutex // Guards the fields below; held while one of several waiters finds out.
	settled bool
	seq     uint64
}

// repeated notes that a stream has dropped a message as a repeat.
func (p *publisher) repeated(id uint64, ack []byte) {
	var answer struct {
		Stream    string `json:"stream"`
		Duplicate bool   `json:"duplicate"`
	}
	if json.Unmarshal(ack, &answer) != nil || !answer.Duplicate {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.pending[id]; w != nil && w.named != nil {
		w.repeat = answer.Stream
	}
}

// distinct returns the sequence of a message that was dropped as a repeat: that of the first message with its id or, if that is a
// different message, its own after it was published again. Errors: ErrUnknown if the first message cannot be read, and those of Publish.
func (n *named) distinct(ctx context.Context, w *waiting) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.settled {
		return n.seq, nil
	}
	taken, err := w.p.taken(ctx, w.repeat, w.seq, n.message)
	if err != nil {
		return 0, fmt.Errorf("%w: look at what has the same id: %w", ErrUnknown, err)
	}
	n.seq = w.seq
	if taken {
		n.message.Header[events.HeaderMsgID] = []string{n.message.Get(events.HeaderMsgID) + "~" + rand.Text()}
		if n.seq, err = w.p.send(n.message, n.expect).Wait(ctx); err != nil {
			return 0, err
		}
	}
	n.settled = true
	return n.seq, nil
}

// taken reports whether the id of a message belongs to a different message, stored at a sequence of a stream: one on another subject, or
// another request. Nothing is known about a message that was removed, so the drop then counts as right: the job of a fact was deleted, or
// work was done, which a scheduler that was cut off must not issue twice. The same holds without the permission to read the stream. Where
// signatures count, a request that was removed counts as a different one, since a scheduler accepts the repeat of a request. Errors:
// ErrUnavailable and the context's.
func (b *Bus) taken(ctx context.Context, stream string, seq uint64, m events.Message) (bool, error) {
	requests := stream == b.names.Intake && b.Signed()
	first, err := b.leader(ctx, stream, query{Seq: seq})
	switch {
	case errors.Is(err, ErrNotFound):
		return requests, nil
	case errors.Is(err, ErrNotPermitted):
		return false, nil
	case err != nil:
		return false, err
	}
	return first.Subject != m.Subject || requests && !bytes.Equal(first.Body, m.Body), nil
}
