package queue

import (
	"time"
)

// Delivery is one work message that was delivered and is not settled yet. The receipt settles it.
type Delivery struct {
	// Subject and Body are the message.
	Subject string
	Body    []byte
	// Trace is its W3C traceparent, if any.
	Trace string
	// Count is how often it was delivered, 1 for the first time; Stored is when it was published.
	Count  int
	Stored time.Time
	// Receipt is used to settle the delivery.
	Receipt Receipt
}

// Receipt settles one delivery. Answers are sent without waiting; if one is lost, the message is delivered again.
type Receipt interface {
	// Ack settles the work as done.
	Ack() error
	// Nak returns the work: it is delivered again after the delay, here or elsewhere.
	Nak(delay time.Duration) error
	// InProgress says that the work continues, which restarts the broker's timeout.
	InProgress() error
	// Term gives up on the work and stores the message as a dead letter with the reason.
	Term(reason string) error
}
