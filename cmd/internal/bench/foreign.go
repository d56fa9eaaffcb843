package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	foreignPool  = "foreign"             // The pool served by the foreign worker.
	foreignAhead = 1024                  // How much work it fetches in advance.
	foreignPoll  = 20 * time.Millisecond // How often it checks whether its pool exists.
)

// foreign is a worker of the basic level as a third party may write one, with only a NATS client: it takes one work message
// at a time, publishes a report, and acknowledges the work when the report is stored.
func foreign(ctx context.Context, at address) error {
	nc, err := at.dial("foreign-worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(slowest))
	if err != nil {
		return fmt.Errorf("open JetStream: %w", err)
	}
	cons, err := poolMade(ctx, js)
	if err != nil {
		return err
	}
	reports := make(chan reported, foreignAhead)
	sub, err := cons.Consume(func(m jetstream.Msg) {
		if r, err := report(js, m); err == nil {
			reports <- r // Otherwise the work is delivered again.
		}
	}, jetstream.PullMaxMessages(foreignAhead))
	if err != nil {
		return fmt.Errorf("consume work: %w", err)
	}
	defer sub.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-reports:
			if r.kept(ctx) {
				_ = r.work.Ack() // If it is lost, the work is delivered again.
			}
		}
	}
}

// poolMade waits for the consumer of the pool. The runner that has the worker's card creates it.
func poolMade(ctx context.Context, js jetstream.JetStream) (jetstream.Consumer, error) {
	tick := time.NewTicker(foreignPoll)
	defer tick.Stop()
	for {
		cons, err := js.Consumer(ctx, events.NewNames("").Work, "pool-"+foreignPool)
		if err == nil || !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return cons, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// reported is work whose report was sent.
type reported struct {
	work   jetstream.Msg
	stored jetstream.PubAckFuture
}

// kept waits until the report is stored; false if ctx ends first.
func (r *reported) kept(ctx context.Context) bool {
	select {
	case <-r.stored.Ok():
		return true
	case err := <-r.stored.Err():
		return err == nil
	case <-ctx.Done():
		return false
	}
}

// report publishes the report of a run that does nothing.
func report(js jetstream.JetStream, m jetstream.Msg) (reported, error) {
	var work struct {
		Subject string `json:"report_subject"`
		ID      string `json:"report_id"`
	}
	if err := json.Unmarshal(m.Data(), &work); err != nil {
		return reported{}, err
	}
	body, err := json.Marshal(map[string]any{"outcome": events.Success, "started": time.Now().UTC()})
	if err != nil {
		return reported{}, err
	}
	stored, err := js.PublishMsgAsync(&nats.Msg{Subject: work.Subject, Data: body, Header: nats.Header{nats.MsgIdHdr: {work.ID}}})
	return reported{m, stored}, err
}
