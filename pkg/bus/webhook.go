package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// WebhookPool holds dead letters of webhooks that are to be sent again.
	WebhookPool = "~webhook"
	// webhookIdle is how long the position of a target is kept while no gateway serves it.
	webhookIdle = 30 * 24 * time.Hour
	// webhookAhead limits the notices of a target that wait for another attempt.
	webhookAhead = 1024
	// webhookDurable begins the names of the consumers of targets.
	webhookDurable = "webhook-"
	// headerWebhook is the header of a notice with its id, which is the same in all attempts.
	headerWebhook = "webhook-id"
)

// Notice is a message to a webhook about an event.
type Notice struct {
	// ID is the same in all attempts. Job and Seq identify the event.
	ID  string
	Job string
	Seq uint64
	// Target is the name of the webhook.
	Target string
	// Body is the body of the HTTP request to the webhook.
	Body []byte
}

// Webhooks are the events for webhooks, with the position of each target, and the notices that are sent again.
type Webhooks struct{ bus *Bus }

// Webhooks returns the access to events and notices for webhooks.
func (b *Bus) Webhooks() Webhooks { return Webhooks{b} }

// consumer returns the consumer that holds the position of a target. All gateways share it.
func (w Webhooks) consumer(target string) ConsumerSpec {
	c := ConsumerSpec{Stream: w.bus.names.Log, Durable: webhookDurable + target, MaxAckPending: webhookAhead, OnDemand: true, Idle: webhookIdle}
	for _, kind := range []events.Kind{events.KindJobFinished, events.KindJobFailed, events.KindJobStopped} {
		c.Filters = append(c.Filters, w.bus.names.Prefix()+".event.*.*."+string(kind))
	}
	c.Filters = append(c.Filters, w.bus.names.Prefix()+".event.*.*."+string(events.KindInputRequested)+".>")
	return c
}

// Follow reads the ends of jobs and the requests for input on behalf of a target; each goes to one of the gateways. It begins at
// the time when the first of them called it. Errors: those of EnsureConsumer and Consume.
func (w Webhooks) Follow(ctx context.Context, target string) (*Subscription, error) {
	c := w.consumer(target)
	log, err := w.bus.Streams().Info(ctx, c.Stream)
	if err != nil {
		return nil, err
	}
	c.StartSeq = log.LastSeq + 1
	return w.consume(ctx, c)
}

// Targets returns the state of each target's position by its name. Errors: ErrNotFound, ErrUnavailable.
func (w Webhooks) Targets(ctx context.Context) (map[string]ConsumerFacts, error) {
	return w.bus.Queues().named(ctx, w.bus.names.Log, webhookDurable)
}

// Again reads the notices of all targets that are to be sent again. Errors: those of Follow.
func (w Webhooks) Again(ctx context.Context) (*Subscription, error) {
	c := w.bus.Queues().ForeignConsumer(WebhookPool)
	c.OnDemand = true
	return w.consume(ctx, c)
}

func (w Webhooks) consume(ctx context.Context, c ConsumerSpec) (*Subscription, error) {
	if err := w.bus.Queues().EnsureConsumer(ctx, c); err != nil {
		return nil, err
	}
	return w.bus.Queues().Consume(ctx, c)
}

// Notice reads a delivery of Again; ok is false for anything else.
func (w Webhooks) Notice(d *Delivery) (n Notice, ok bool) {
	m := d.Message()
	n = Notice{ID: m.Get(headerWebhook), Target: nthToken(m.Subject, 3), Job: nthToken(m.Subject, 4), Body: m.Body}
	_, err := fmt.Sscan(nthToken(m.Subject, 6), &n.Seq)
	return n, err == nil && n.ID != "" && m.Subject == w.subject(n)
}

// subject returns the subject on which a notice is queued again.
func (w Webhooks) subject(n Notice) string {
	return w.bus.names.WorkFor(WebhookPool, n.Target, n.Job, "~", int(n.Seq))
}

// SetAside stores a notice that could not be delivered as a dead letter, once; retrying the dead letter queues the notice again.
// Errors: those of Publish.
func (w Webhooks) SetAside(ctx context.Context, n Notice, reason string) error {
	m := events.Message{Subject: w.bus.DeadLetters().at(DeadWebhook, n.Seq, n.Target), Body: n.Body, Header: map[string][]string{
		headerDeadSubject: {w.subject(n)}, headerDeadReason: {deadReason(reason)}, headerWebhook: {n.ID},
	}}
	_, err := w.bus.Publish(ctx, m, ExpectNone())
	if errors.Is(err, ErrConflict) {
		return nil // The notice was stored before.
	}
	return err
}
