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
	// question is the time limit of one request to the server: while a cluster has no leader, requests are lost.
	question = 2500 * time.Millisecond
	// askTimeout is how long a request is repeated if the caller has no deadline; an election takes 4 to 5 s.
	askTimeout = 10 * time.Second
)

// pauseAsking is the delay before a request is repeated that the server could not answer yet.
const pauseAsking = 250 * time.Millisecond

// errNoLeader is the answer of a server while its cluster has no leader.
var errNoLeader = fmt.Errorf("%w: the cluster has no leader", ErrUnavailable)

// repeat repeats a request until the caller's deadline while no answer comes or the server asks for a later attempt.
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

// moving reports whether the connection is moving from one server of a cluster to another: a request to the old one is
// lost.
func moving(nc *nats.Conn, err error) bool {
	lost := errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrReconnectBufExceeded)
	return lost && nc != nil && !nc.IsClosed() && len(nc.Servers()) > 1
}

// noLeader is the error code in the JSON of an answer without a leader; answers with an error are short.
var noLeader = []byte(`"err_code":` + strconv.Itoa(codeNoCluster))

// guarded is like repeat, but ends at once when the server refuses the subject of the request, or one that begins with
// it.
func guarded[T any](ctx context.Context, nc *nats.Conn, d *denials, subject string, ask func(context.Context) (T, error)) (T, error) {
	ctx, stop := d.guard(ctx, subject)
	defer stop()
	answer, err := repeat(ctx, nc, ask)
	return answer, refusalIn(ctx, err)
}

// ask sends a request that is safe to repeat. Errors are those of the SDK, and errNoLeader.
func (b *Bus) ask(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	return guarded(ctx, b.nc, b.denials, subject, func(ctx context.Context) (*nats.Msg, error) {
		reply, err := b.nc.RequestWithContext(ctx, subject, body)
		if err == nil && len(reply.Data) < 1024 && bytes.Contains(reply.Data, noLeader) {
			err = errNoLeader
		}
		return reply, err
	})
}

// undated hides the deadline of a context and nothing else: the SDK uses its own timeout of five seconds only if the caller
// has no deadline.
type undated struct{ context.Context }

// Deadline implements context.Context.
func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// asking is the SDK's JetStream with requests that are repeated by repeat and never wait for ever. It implements the SDK's
// interface, hence the many methods.
type asking struct {
	jetstream.JetStream
	nc      *nats.Conn
	denials *denials
}

// once asks a single time, for a request that must not be repeated.
func (a asking) once(ctx context.Context, request string, ask func(context.Context) error) error {
	ctx, stop := a.denials.guard(ctx, apiPrefix+request)
	defer stop()
	return refusalIn(ctx, ask(undated{ctx}))
}

// AccountInfo implements jetstream.JetStream.
func (a asking) AccountInfo(ctx context.Context) (*jetstream.AccountInfo, error) {
	return guarded(ctx, a.nc, a.denials, apiPrefix+"INFO", a.JetStream.AccountInfo)
}

// Stream implements jetstream.JetStream.
func (a asking) Stream(ctx context.Context, stream string) (jetstream.Stream, error) {
	return guarded(ctx, a.nc, a.denials, apiPrefix+"STREAM.INFO."+stream, func(ctx context.Context) (jetstream.Stream, error) { return a.JetStream.Stream(ctx, stream) })
}

// CreateStream implements jetstream.JetStream.
func (a asking) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	var made jetstream.Stream
	err := a.once(ctx, "STREAM.CREATE."+cfg.Name, func(ctx context.Context) (err error) {
		made, err = a.JetStream.CreateStream(ctx, cfg)
		return err
	})
	return made, err
}

// UpdateStream implements jetstream.JetStream.
func (a asking) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	var made jetstream.Stream
	err := a.once(ctx, "STREAM.UPDATE."+cfg.Name, func(ctx context.Context) (err error) {
		made, err = a.JetStream.UpdateStream(ctx, cfg)
		return err
	})
	return made, err
}

// DeleteStream implements jetstream.JetStream.
func (a asking) DeleteStream(ctx context.Context, stream string) error {
	return a.once(ctx, "STREAM.DELETE."+stream, func(ctx context.Context) error { return a.JetStream.DeleteStream(ctx, stream) })
}

// Consumer implements jetstream.JetStream.
func (a asking) Consumer(ctx context.Context, stream, consumer string) (jetstream.Consumer, error) {
	return guarded(ctx, a.nc, a.denials, apiPrefix+"CONSUMER.INFO."+stream+"."+consumer, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.Consumer(ctx, stream, consumer)
	})
}

// CreateConsumer implements jetstream.JetStream.
func (a asking) CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return guarded(ctx, a.nc, a.denials, apiPrefix+"CONSUMER.CREATE."+stream, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.CreateConsumer(ctx, stream, cfg)
	})
}

// CreateOrUpdateConsumer implements jetstream.JetStream.
func (a asking) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return guarded(ctx, a.nc, a.denials, apiPrefix+"CONSUMER.CREATE."+stream, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.CreateOrUpdateConsumer(ctx, stream, cfg)
	})
}

// UpdateConsumer implements jetstream.JetStream.
func (a asking) UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	var made jetstream.Consumer
	err := a.once(ctx, "CONSUMER.CREATE."+stream, func(ctx context.Context) (err error) {
		made, err = a.JetStream.UpdateConsumer(ctx, stream, cfg)
		return err
	})
	return made, err
}

// DeleteConsumer implements jetstream.JetStream.
func (a asking) DeleteConsumer(ctx context.Context, stream, consumer string) error {
	return a.once(ctx, "CONSUMER.DELETE."+stream+"."+consumer, func(ctx context.Context) error { return a.JetStream.DeleteConsumer(ctx, stream, consumer) })
}
