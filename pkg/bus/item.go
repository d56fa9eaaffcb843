package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// Items stores and reads live items. A separate stream keeps them for a while, and nothing depends on them. On a bus without that
// stream they reach only those who listen at that moment.
type Items struct {
	bus      *Bus
	names    item.Subjects
	news     *JobWatcher
	followed atomic.Int32 // The number of ItemSubscriptions.
}

// itemToken is the index of the job's token in a subject of items.
const itemToken = 2

func newItems(b *Bus) *Items {
	n := item.LiveSubjects(b.names)
	return &Items{bus: b, names: n, news: &JobWatcher{bus: b, stream: n.Stream(), filters: []string{n.All()}, token: itemToken}}
}

// Send passes a message with items on, without waiting and without an answer. Errors: ErrUnavailable while there is no
// connection, so that nothing piles up in front of other messages; ErrTooLarge.
func (i *Items) Send(job, subjob string, body []byte) error {
	if err := i.bus.Ready(); err != nil {
		return err
	}
	return i.bus.PublishCore(i.names.SubJob(job, subjob), nil, body)
}

// Confirm is like Send, and returns the acknowledgement: when it has come, everything that this process sent before is
// stored, too. Ack.Wait returns ErrUnavailable without a stream.
func (i *Items) Confirm(job, subjob string, body []byte) (Ack, error) {
	if err := i.bus.Ready(); err != nil {
		return Ack{}, err
	}
	return i.bus.PublishAsync(events.Message{Subject: i.names.SubJob(job, subjob), Body: body}, Expect{}), nil
}

// ItemMessage is one stored message with items of one SubJob.
type ItemMessage struct {
	// Seq is its sequence in the stream of live items.
	Seq uint64
	// Job and SubJob are those of its subject.
	Job, SubJob string
	// Items are its items; Unreadable counts the lines that are not items.
	Items      []item.Item
	Unreadable int
}

func (i *Items) message(s Stored) ItemMessage {
	list, unreadable := item.Decode(s.Body)
	m := ItemMessage{Seq: s.Seq, Job: nthToken(s.Subject, itemToken), SubJob: nthToken(s.Subject, itemToken+1), Items: list, Unreadable: unreadable}
	for n := range m.Items {
		if m.Items[n].At.IsZero() {
			m.Items[n].At = s.Time
		}
	}
	return m
}

// Of yields the stored messages of a job, or of one SubJob, after a sequence, up to what is stored when the reading begins.
// Errors: ErrNotFound without the stream, ErrUnavailable.
func (i *Items) Of(ctx context.Context, job, subjob string, after uint64) iter.Seq2[ItemMessage, error] {
	return func(yield func(ItemMessage, error) bool) {
		err := i.valid(job, subjob)
		if err == nil {
			err = i.bus.log.read(ctx, i.names.Stream(), i.subject(job, subjob), after, func(s Stored, _ error) bool {
				return yield(i.message(s), nil)
			})
		}
		if err != nil {
			yield(ItemMessage{}, fmt.Errorf("read live items of job %s: %w", job, err))
		}
	}
}

// Listen calls f, from one goroutine, for each message that is sent from now on, until stop, even on a bus without the
// stream. Sequences are 0. Errors: those of SubscribeCore.
func (i *Items) Listen(job, subjob string, f func(ItemMessage)) (stop func(), err error) {
	return i.bus.SubscribeCore(i.subject(job, subjob), func(subject string, body []byte) {
		f(i.message(Stored{Message: events.Message{Subject: subject, Body: body}, Time: time.Now()}))
	})
}

func (i *Items) subject(job, subjob string) string {
	if subjob == "" {
		subjob = "*"
	}
	return i.names.SubJob(job, subjob)
}

func (i *Items) valid(job, subjob string) error {
	if err := validJob(job); err != nil || subjob == "" {
		return err
	}
	return validJob(subjob)
}

// Bounds returns the first and the last sequence that are kept, of all jobs; first is last+1 if nothing is kept. Errors:
// ErrNotFound without the stream, ErrUnavailable.
func (i *Items) Bounds(ctx context.Context) (first, last uint64, err error) {
	facts, err := i.bus.Streams().Info(ctx, i.names.Stream())
	return facts.FirstSeq, facts.LastSeq, err
}

// Exist reports whether the bus has the stream of live items. Errors: ErrUnavailable.
func (i *Items) Exist(ctx context.Context) (bool, error) {
	_, _, err := i.Bounds(ctx)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
