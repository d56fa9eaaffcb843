package loop

import "github.com/jobgraph/jobgraph/pkg/events"

// Acker settles one delivery.
type Acker interface {
	// Ack settles it: it is not delivered again.
	Ack() error
	// InProgress asks the consumer to wait: otherwise it delivers the message again.
	InProgress() error
}

// Delivery is one message of the log as a consumer hands it out.
type Delivery struct {
	// Event is the decoded event; its Job is empty if the subject is not in the log's format.
	Event events.Event
	// Subject is the event's subject in the log.
	Subject string
	// ConsumerSeq counts all deliveries of the consumer, to any subscriber, repeats included.
	ConsumerSeq uint64
	// First is true if it is the first delivery of the message.
	First bool
	// Acker acknowledges it.
	Acker Acker
}

// Batch is a group of deliveries that were available together.
type Batch struct {
	// Deliveries are in the order of the consumer.
	Deliveries []Delivery
	// Fresh is true if the connection or the subscription is newer than the previous batch: deliveries may have been missed.
	Fresh bool
}

// seen returns the sequence of the last event in the batch; 0 without events.
func (b *Batch) seen() (seq uint64) {
	for i := range b.Deliveries {
		seq = max(seq, b.Deliveries[i].Event.Seq)
	}
	return seq
}
