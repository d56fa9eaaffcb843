package queue

import (
	"time"
)

// Delivery is one message of work in hand. Its holder settles it by its receipt.
type Delivery struct {
	// Subject and Body are the message.
	Subject string
	Body    []byte
	// Trace is its W3C traceparent, if any.
	Trace string
	// Count says how often it was delivered, 1 for the first time; Stored is when it was published.
	Count  int
	Stored time.Time
	// Receipt settles it.
	Receipt Receipt
}

// Receipt settles one delivery. Answers are sent, not awaited: one that is lost makes the message come again.
type Receipt interface {
	// Ack says that the work is done, for good.
	Ack() error
	// Nak gives the work back: it is delivered again after the delay, here or elsewhere.
	Nak(delay time.Duration) error
	// InProgress says that the work is still in progress, which restarts the broker's patience.
	InProgress() error
	// Term gives the work up for good, and sets the message aside with the reason.
	Term(reason string) error
}
