package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// question is the time limit of one request to the server: while a cluster has no leader, requests are lost without an answer.
	question = 2500 * time.Millisecond
	// askTimeout is how long it is asked again for a caller without a deadline: an election takes 4 to 5 s.
	askTimeout = 10 * time.Second
)

// pauseAsking is how long it is waited before a question that was answered with "not now" is asked again.
const pauseAsking = 250 * time.Millisecond

// errNoLeader is the answer of a server that knows no leader of its cluster now.
var errNoLeader = fmt.Errorf("%w: the cluster has no leader", ErrUnavailable)

// repeat asks again while there is no answer, or the answer is that there may be one later, until the caller's deadline.
func repeat[T any](ctx context.Context, nc *nats.Conn, ask func(context.Context) (T, error)) (answer T, err error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTimeout)
		defer cancel()
	}
	for {
		one, stop := context.WithTimeout(ctx, question)
		answer, err = ask(one)
		stop()
		switch {
		case err == nil || ctx.Err() != nil:
			return answer, err
		case errors.Is(err, context.DeadlineExceeded):
			continue
		case !leaderless(err) && !moving(nc, err):
			return answer, err
		}
		timer := time.NewTimer(pauseAsking)
		select {
		case <-ctx.Done():
			timer.Stop()
			return answer, err
		case <-timer.C:
		}
	}
}

func leaderless(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, errNoLeader) || errors.As(err, &api) && api.ErrorCode == codeNoCluster
}

// moving is true while the connection goes from one server of several to another: what was asked of the one is lost.
func moving(nc *nats.Conn, err error) bool {
	lost := errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrReconnectBufExceeded)
	return lost && nc != nil && !nc.IsClosed() && len(nc.Servers()) > 1
}

// noLeader is how the JSON of an answer says it; answers with an error are short.
var noLeader = []byte(`"err_code":` + strconv.Itoa(codeNoCluster))

// ask sends a question that may be repeated. Errors are the SDK's, and errNoLeader.
func (b *Bus) ask(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	return repeat(ctx, b.nc, func(ctx context.Context) (*nats.Msg, error) {
		reply, err := b.nc.RequestWithContext(ctx, subject, body)
		if err == nil && len(reply.Data) < 1024 && bytes.Contains(reply.Data, noLeader) {
			err = errNoLeader
		}
		return reply, err
	})
}

// undated hides the deadline of a context, of which everything else stays: the SDK takes its own, of five seconds, for a
// question only when the caller has none.
type undated struct{ context.Context }

// Deadline implements context.Context.
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// asking is the SDK's JetStream without questions that wait for ever. It has the many methods of that interface, whose place it takes.
type asking struct {
	jetstream.JetStream
	nc *nats.Conn
}

// AccountInfo is the SDK's.
func (a asking) AccountInfo(ctx context.Context) (*jetstream.AccountInfo, error) {
	return repeat(ctx, a.nc, a.JetStream.AccountInfo)
}

// Stream is the SDK's.
func (a asking) Stream(ctx context.Context, stream string) (jetstream.Stream, error) {
	return repeat(ctx, a.nc, func(ctx context.Context) (jetstream.Stream, error) { return a.JetStream.Stream(ctx, stream) })
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
	return repeat(ctx, a.nc, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.Consumer(ctx, stream, consumer)
	})
}

// CreateOrUpdateConsumer is the SDK's.
func (a asking) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return repeat(ctx, a.nc, func(ctx context.Context) (jetstream.Consumer, error) {
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
