package baseline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Work runs nodes that do nothing until ctx ends. A completion is stored before its work is acknowledged.
func Work(ctx context.Context, js jetstream.JetStream) error {
	ran := make(chan sent, ahead)
	return consume(ctx, js, func(m jetstream.Msg) {
		if done, err := complete(js, m); err == nil {
			ran <- sent{m, done} // If it were dropped, the work would be delivered again.
		}
	}, func() { acknowledge(ctx, ran) })
}

// ClaimAndWork is like Work, with an additional append per node, which is stored before the node runs.
func ClaimAndWork(ctx context.Context, js jetstream.JetStream) error {
	claims, ran := make(chan sent, ahead), make(chan sent, ahead)
	return consume(ctx, js, func(m jetstream.Msg) {
		if claim, err := js.PublishAsync("floor.journal."+strings.TrimPrefix(m.Subject(), "floor.work."), nil); err == nil {
			claims <- sent{m, claim}
		}
	}, func() {
		go acknowledge(ctx, ran) // Ends with ctx.
		for {
			select {
			case <-ctx.Done():
				return
			case c := <-claims:
				if settle(ctx, c.ack) != nil {
					continue
				}
				if done, err := complete(js, c.work); err == nil {
					ran <- sent{c.work, done}
				}
			}
		}
	})
}

// sent is a work message with the publish of its result.
type sent struct {
	work jetstream.Msg
	ack  jetstream.PubAckFuture
}

// consume passes each work message to take while follow runs.
func consume(ctx context.Context, js jetstream.JetStream, take func(jetstream.Msg), follow func()) error {
	cons, err := js.Consumer(ctx, WorkStream, "worker")
	if err != nil {
		return fmt.Errorf("open consumer of %s: %w", WorkStream, err)
	}
	sub, err := cons.Consume(take, jetstream.PullMaxMessages(ahead))
	if err != nil {
		return fmt.Errorf("consume %s: %w", WorkStream, err)
	}
	defer sub.Stop()
	follow()
	return nil
}

// complete runs a node and publishes when it ran.
func complete(js jetstream.JetStream, m jetstream.Msg) (jetstream.PubAckFuture, error) {
	job, node, _ := strings.Cut(strings.TrimPrefix(m.Subject(), "floor.work."), ".")
	return js.PublishAsync("floor.log."+job+".done."+node, strconv.AppendInt(nil, time.Now().UnixNano(), 10))
}

// acknowledge acknowledges work whose completion is stored, until ctx ends.
func acknowledge(ctx context.Context, ran <-chan sent) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-ran:
			if settle(ctx, r.ack) == nil {
				_ = r.work.Ack() // If it is lost, the work is delivered again.
			}
		}
	}
}
