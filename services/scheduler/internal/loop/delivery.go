package loop

import "github.com/jobgraph/jobgraph/pkg/events"

// Acker settles one delivery.
type Acker interface {
	// Ack settles it: it is not delivered again.
	Ack() error
	// InProgress asks the consumer to wait on: without a word it delivers the message again.
	InProgress() error
}

// Delivery is one message of the log as a consumer hands it out.
type Delivery struct {
	// Event is what it holds; its Job is empty when the subject is no subject of the log.
	Event events.Event
	// Subject is where it stands.
	Subject string
	// ConsumerSeq counts the deliveries of the consumer, to anybody, repeats included.
	ConsumerSeq uint64
	// First is true when it was not delivered before.
	First bool
	// Acker acknowledges it.
	Acker Acker
}

// Batch is what was waiting when it was asked for.
type Batch struct {
	// Deliveries are in the order of the consumer.
	Deliveries []Delivery
	// Fresh is true when the connection or the subscription is newer than the batch before: something may have been missed.
	Fresh bool
}
