package bus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// question is how long one question to the server may take: while a cluster has no leader it is lost, and nobody says so.
	question = 2500 * time.Millisecond
	// askTimeout is how long it is asked again for a caller without a deadline: an election takes 4 to 5 s.
	askTimeout = 10 * time.Second
)

// repeat asks again while the answer does not come, until the caller's deadline.
func repeat[T any](ctx context.Context, ask func(context.Context) (T, error)) (answer T, err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTimeout)
		defer cancel()
	}
	for {
		one, stop := context.WithTimeout(ctx, question)
		answer, err = ask(one)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// ask sends a question that may be repeated. Errors are the SDK's.
func (b *Bus) ask(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	return repeat(ctx, func(ctx context.Context) (*nats.Msg, error) { return b.nc.RequestWithContext(ctx, subject, body) })
}

// undated hides the deadline of a context, of which everything else stays: the SDK takes its own, of five seconds, for a
// question only when the caller has none.
type undated struct{ context.Context }

// Deadline implements context.Context.
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// asking is the SDK's JetStream without questions that wait for ever.
type asking struct{ jetstream.JetStream }

// AccountInfo is the SDK's.
func (a asking) AccountInfo(ctx context.Context) (*jetstream.AccountInfo, error) {
	return repeat(ctx, a.JetStream.AccountInfo)
}

// Stream is the SDK's.
func (a asking) Stream(ctx context.Context, stream string) (jetstream.Stream, error) {
	return repeat(ctx, func(ctx context.Context) (jetstream.Stream, error) { return a.JetStream.Stream(ctx, stream) })
}

// CreateStream is the SDK's.
func (a asking) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return a.JetStream.CreateStream(undated{ctx}, cfg)
}

// DeleteStream is the SDK's.
func (a asking) DeleteStream(ctx context.Context, stream string) error {
	return a.JetStream.DeleteStream(undated{ctx}, stream)
}

// Consumer is the SDK's.
func (a asking) Consumer(ctx context.Context, stream, consumer string) (jetstream.Consumer, error) {
	return repeat(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.Consumer(ctx, stream, consumer)
	})
}

// CreateOrUpdateConsumer is the SDK's.
func (a asking) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return repeat(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.CreateOrUpdateConsumer(ctx, stream, cfg)
	})
}

// UpdateConsumer is the SDK's.
func (a asking) UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return a.JetStream.UpdateConsumer(undated{ctx}, stream, cfg)
}

// DeleteConsumer is the SDK's.
func (a asking) DeleteConsumer(ctx context.Context, stream, consumer string) error {
	return a.JetStream.DeleteConsumer(undated{ctx}, stream, consumer)
}
