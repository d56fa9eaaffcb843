package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// MaxMessage is the largest body that Publish takes, in bytes; what is larger goes by reference.
const MaxMessage = 512 << 10

// Expect is what must hold in the stream for a publish to be stored. The zero value expects nothing.
type Expect struct {
	// Last is the sequence of the last message on the subject, 0 for none at all; nil expects nothing.
	Last *uint64
	// Subject is the subject that Last is about, the message's own when empty.
	Subject string
}

// ExpectNone expects that the message's subject has no message yet.
func ExpectNone() Expect { return Expect{Last: new(uint64)} }

// ExpectLast expects that the last message on the message's subject has this sequence.
func ExpectLast(seq uint64) Expect { return Expect{Last: &seq} }

// Publish stores a message and gives its sequence. The message's header is the bus's from then on. A repeat of a message id
// within the window of the stream gives the sequence of the first. Errors: ErrConflict, ErrUnknown, ErrTooLarge, ErrFull,
// ErrUnavailable, ErrNotPermitted, ErrRefused.
func (b *Bus) Publish(ctx context.Context, m events.Message, e Expect) (uint64, error) {
	retry := 50 * time.Millisecond
	for {
		seq, err := b.PublishAsync(m, e).Wait(ctx)
		// A stream without a leader has no responder; elections take seconds, and nothing was stored meanwhile.
		if !errors.Is(err, errNoResponder) || retry > time.Second {
			return seq, err
		}
		timer := time.NewTimer(retry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return seq, err
		case <-timer.C:
			retry *= 2
		}
	}
}

// PublishAsync sends a message and gives its pending answer. It blocks only while the window of unanswered publishes is
// full. Messages of one goroutine are stored in the order of its calls. Errors are those of Publish, given by Ack.Wait.
func (b *Bus) PublishAsync(m events.Message, e Expect) Ack {
	if len(m.Body) > MaxMessage {
		return failed(m.Subject, fmt.Errorf("%w: body of %d bytes, at most %d", ErrTooLarge, len(m.Body), MaxMessage))
	}
	return b.pub.send(m, e)
}

// PublishAll sends messages under the same kind of expectation and waits for all answers; errs has one entry for each.
func (b *Bus) PublishAll(ctx context.Context, list []events.Message, e Expect) (errs []error) {
	acks := make([]Ack, len(list))
	for i := range list {
		acks[i] = b.PublishAsync(list[i], e)
	}
	errs = make([]error, len(list))
	for i := range acks {
		_, errs[i] = acks[i].Wait(ctx)
	}
	return errs
}

func (e Expect) write(header map[string][]string) {
	delete(header, jetstream.ExpectedLastSubjSeqHeader)
	delete(header, jetstream.ExpectedLastSubjSeqSubjHeader)
	if e.Last == nil {
		return
	}
	header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(*e.Last, 10)}
	if e.Subject != "" {
		header[jetstream.ExpectedLastSubjSeqSubjHeader] = []string{e.Subject}
	}
}
