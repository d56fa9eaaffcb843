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

// MaxMessage is the largest body that Publish accepts, in bytes; larger payloads are stored as blobs.
const MaxMessage = 512 << 10

// Expect is a condition on the stream under which a publish is stored. The zero value sets no condition.
type Expect struct {
	// Last is the sequence of the last message on the subject, 0 for none; nil sets no condition.
	Last *uint64
	// Subject is the subject that Last refers to; empty means the message's own.
	Subject string
}

// ExpectNone requires that the message's subject has no message yet.
func ExpectNone() Expect { return Expect{Last: new(uint64)} }

// ExpectLast requires that the last message on the message's subject has this sequence.
func ExpectLast(seq uint64) Expect { return Expect{Last: &seq} }

// Publish stores a message and returns its sequence. It takes ownership of the message's header. A repeated message id
// within the deduplication window of the stream returns the first message's sequence. Errors: ErrConflict, ErrUnknown,
// ErrTooLarge, ErrFull, ErrUnavailable, ErrNotPermitted, ErrRefused.
func (b *Bus) Publish(ctx context.Context, m events.Message, e Expect) (uint64, error) {
	retry := 50 * time.Millisecond
	for {
		seq, err := b.PublishAsync(m, e).Wait(ctx)
		// A stream without a leader has no responder. Elections take seconds, and nothing is stored during that time.
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

// PublishAsync sends a message and returns its pending acknowledgement. It blocks only while the window of unacknowledged
// publishes is full. Messages of one goroutine are stored in the order of its calls. Ack.Wait returns the errors of
// Publish. With a key, the connection signs requests, answers, control events and descriptions of payloads. Where
// signatures count, the first work of a pool is sent once the pool has a consumer.
func (b *Bus) PublishAsync(m events.Message, e Expect) Ack {
	if len(m.Body) > MaxMessage {
		return failed(m.Subject, fmt.Errorf("%w: body of %d bytes, at most %d", ErrTooLarge, len(m.Body), MaxMessage))
	}
	if err := b.sealing.seal(b.names, &m); err != nil {
		return failed(m.Subject, err)
	}
	if pool, ok := b.served.pool(m.Subject); ok {
		return b.served.send(pool, m, e)
	}
	return b.pub.send(m, e)
}

// PublishAll sends messages under the same expectation and waits for all acknowledgements; errs has one entry per message.
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
