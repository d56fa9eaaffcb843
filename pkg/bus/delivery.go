package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// Delivery is one message delivered by a consumer.
type Delivery struct {
	bus   *Bus
	msg   *nats.Msg
	seq   uint64
	order uint64
	count uint64
	left  uint64
	at    int64
}

// Message returns the published message. It shares header and body with the delivery.
func (d *Delivery) Message() events.Message {
	return events.Message{Subject: d.msg.Subject, Header: d.msg.Header, Body: d.msg.Data}
}

// Event decodes the delivery as an event of the log; ok is false if its subject is not of the log. An event that does not count
// for lack of a signature is Unsigned.
func (d *Delivery) Event() (e events.Event, ok bool) {
	return d.bus.event(d.Message(), d.seq, d.Time())
}

// Signer is like Services.Signer, for the sender of a queued request.
func (d *Delivery) Signer() (who *seal.Signer, asked bool, err error) {
	m := d.Message()
	return d.bus.sealing.signer(&m, d.Time())
}

// Seq returns the sequence in the stream.
func (d *Delivery) Seq() uint64 { return d.seq }

// ConsumerSeq counts the consumer's deliveries over all its readers. A gap means that another reader got some.
func (d *Delivery) ConsumerSeq() uint64 { return d.order }

// Delivered returns how often this message was delivered, including this time.
func (d *Delivery) Delivered() int { return int(d.count) }

// Pending returns how many messages the consumer still has to deliver after this one.
func (d *Delivery) Pending() uint64 { return d.left }

// Time returns when the stream stored the message.
func (d *Delivery) Time() time.Time { return time.Unix(0, d.at).UTC() }

// Ack settles the delivery. It does not wait for the broker, which may deliver the message again after a crash of either
// side.
func (d *Delivery) Ack() error { return d.settle("+ACK") }

// Nak returns the message, for redelivery to any reader after the delay.
func (d *Delivery) Nak(delay time.Duration) error {
	if delay <= 0 {
		return d.settle("-NAK")
	}
	return d.settle(`-NAK {"delay":` + strconv.FormatInt(int64(delay), 10) + "}")
}

// InProgress extends the time to settle by AckWait from now.
func (d *Delivery) InProgress() error { return d.settle("+WPI") }

// Term gives up on the message: a copy with the reason is stored as a dead letter, and the message is never delivered
// again. If the copy cannot be stored now, the message is not settled and is delivered again.
func (d *Delivery) Term(reason string) error { return d.giveUp(reason, nil) }

// Refuse is like Term, with a list of faults, which the copy contains as well.
func (d *Delivery) Refuse(faults events.Faults) error { return d.giveUp(faults.Error(), faults) }

func (d *Delivery) giveUp(reason string, faults events.Faults) error {
	if err := d.bus.DeadLetters().add(d, reason, faults); err != nil {
		return err
	}
	if reason == "" {
		return d.settle("+TERM")
	}
	return d.settle("+TERM " + reason)
}

// Withdraw stores a copy of an Unsigned event as a dead letter. An answer is removed from the log to make room for another one; a
// control event stays there, without effect. The delivery is not settled. Errors: those of the bus.
func (d *Delivery) Withdraw(ctx context.Context, e *events.Event) error {
	if err := d.bus.DeadLetters().add(d, e.Fault.Error(), events.Faults{*e.Fault}); err != nil || e.Control {
		return err
	}
	log := d.bus.names.Log
	first, err := d.bus.leader(ctx, log, query{Seq: 1, NextFor: d.msg.Subject})
	if errors.Is(err, ErrNotFound) || err == nil && first.Seq != d.seq {
		return nil // It was removed, or the true answer came first.
	}
	if err != nil {
		return err
	}
	return d.bus.Streams().purge(ctx, log, d.msg.Subject, d.seq+1)
}

func (d *Delivery) settle(answer string) error {
	if err := d.bus.nc.Publish(d.msg.Reply, []byte(answer)); err != nil {
		return fmt.Errorf("settle %s: %w", d.msg.Subject, class(err))
	}
	return nil
}

// newDelivery parses the metadata of a delivery from its reply subject, which is
// $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>. Servers that include domain and
// account put two more tokens before the stream and one at the end.
func newDelivery(b *Bus, msg *nats.Msg) (d Delivery, consumer string, ok bool) {
	d = Delivery{bus: b, msg: msg}
	reply, ok := strings.CutPrefix(msg.Reply, "$JS.ACK.")
	if !ok {
		return d, "", false
	}
	switch tokens := strings.Count(reply, ".") + 1; {
	case tokens == 7:
	case tokens >= 9:
		_, reply, _ = strings.Cut(reply, ".")
		_, reply, _ = strings.Cut(reply, ".")
	default:
		return d, "", false
	}
	_, reply, _ = strings.Cut(reply, ".")
	consumer, reply, _ = strings.Cut(reply, ".")
	var at uint64
	for _, field := range []*uint64{&d.count, &d.seq, &d.order, &at, &d.left} {
		var token string
		token, reply, _ = strings.Cut(reply, ".")
		n, err := strconv.ParseUint(token, 10, 64)
		if err != nil {
			return d, "", false
		}
		*field = n
	}
	d.at = int64(at)
	return d, consumer, true
}
