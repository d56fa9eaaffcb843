package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
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
	// stored and passed say when to publish again after a refusal, on subjects of the stream and on those beside it.
	stored, passed refusals
}

// The indices of the tokens of the job, the SubJob and the pool in a subject of items.
const (
	itemToken = 2 + iota
	itemSubJob
	itemPool
)

func newItems(b *Bus) *Items {
	n := item.LiveSubjects(b.names)
	i := &Items{bus: b, names: n, news: &JobWatcher{bus: b, stream: n.Stream(), filters: []string{n.All()}, token: itemToken}}
	b.denials.on(strings.TrimSuffix(n.All(), ">"), i.stored.heard(b))
	b.denials.on(b.names.Live("", ""), i.passed.heard(b))
	return i
}

// refusals remembers when the server refused a message, so that a process whose permissions are of another release does not try each one,
// and logs few refusals.
type refusals struct{ last atomic.Int64 }

// refusedFor is how long nothing is published after a refusal.
const refusedFor = time.Minute

func (r *refusals) heard(b *Bus) func(string, error) {
	return func(_ string, err error) {
		now := time.Now().UnixNano()
		if now-r.last.Load() > int64(time.Second) { // Those of messages that were on their way are of the same cause.
			b.logger.Warn("live items are not published", "error", err)
		}
		r.last.Store(now)
	}
}

func (r *refusals) check() error {
	if time.Now().UnixNano()-r.last.Load() < int64(refusedFor) { // It is 0 before the first refusal.
		return fmt.Errorf("%w: publish live items", ErrNotPermitted)
	}
	return nil
}

// Send passes a message with items of a run on, without waiting and without an answer. With roles, the subject names the pool of the run,
// as item_subject in its work says; otherwise pool is empty. Errors: ErrUnavailable while there is no connection, so that nothing piles up
// in front of other messages; ErrTooLarge; ErrNotPermitted for a while after a refusal.
func (i *Items) Send(job, subjob, pool string, body []byte) error {
	if err := i.open(); err != nil {
		return err
	}
	return i.bus.PublishCore(i.names.In(job, subjob, pool), nil, body)
}

// Confirm is like Send, and returns the acknowledgement: when it has come, everything that this process sent before is stored,
// too. Ack.Wait returns ErrUnavailable without a stream.
func (i *Items) Confirm(job, subjob, pool string, body []byte) (Ack, error) {
	if err := i.open(); err != nil {
		return Ack{}, err
	}
	return i.bus.PublishAsync(events.Message{Subject: i.names.In(job, subjob, pool), Body: body}, Expect{}), nil
}

func (i *Items) open() error {
	if err := i.bus.Ready(); err != nil {
		return err
	}
	return i.stored.check()
}

// Pass sends bytes to those who listen on the live subject of a SubJob at this moment. The pool is that of Send. Errors: those of
// PublishCore; ErrNotPermitted for a while after a refusal.
func (i *Items) Pass(job, subjob, pool string, body []byte) error {
	if err := i.passed.check(); err != nil {
		return err
	}
	return i.bus.PublishCore(i.names.Passing(job, subjob, pool), nil, body)
}

// ItemMessage is one stored message with items of one SubJob.
type ItemMessage struct {
	// Seq is its sequence in the stream of live items.
	Seq uint64
	// Job, SubJob and Pool are those of its subject; Pool is empty if it names none.
	Job, SubJob, Pool string
	// Items are its items; Unreadable counts the lines that are not items.
	Items      []item.Item
	Unreadable int
}

func (i *Items) message(s Stored) ItemMessage {
	list, unreadable := item.Decode(s.Body)
	m := ItemMessage{Seq: s.Seq, Job: nthToken(s.Subject, itemToken), SubJob: nthToken(s.Subject, itemSubJob), Pool: nthToken(s.Subject, itemPool), Items: list, Unreadable: unreadable}
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
			err = i.read(ctx, i.subjects(job, subjob), after, func(s Stored) bool { return yield(i.message(s), nil) })
		}
		if err != nil {
			yield(ItemMessage{}, fmt.Errorf("read live items of job %s: %w", job, err))
		}
	}
}

// read calls f for each stored message on some subjects, which have no message in common, in the order of the stream.
func (i *Items) read(ctx context.Context, subjects []string, after uint64, f func(Stored) bool) error {
	of := func(subject string) iter.Seq2[Stored, error] {
		return func(yield func(Stored, error) bool) {
			if err := i.bus.log.read(ctx, i.names.Stream(), subject, after, yield); err != nil {
				yield(Stored{}, err)
			}
		}
	}
	beside := func() (Stored, error, bool) { return Stored{}, nil, false }
	if len(subjects) > 1 {
		next, stop := iter.Pull2(of(subjects[1]))
		defer stop()
		beside = next
	}
	other, err, more := beside()
	for s, wrong := range of(subjects[0]) {
		for ; more && err == nil && other.Seq < s.Seq; other, err, more = beside() {
			if !f(other) {
				return nil
			}
		}
		if err = cmp.Or(wrong, err); err != nil || !f(s) {
			return err
		}
	}
	for more && err == nil && f(other) {
		other, err, more = beside()
	}
	return err
}

// Listen calls f, one call at a time, for each message that is sent from now on, until stop, also on a bus without the
// stream. Sequences are 0. Errors: those of SubscribeCore.
func (i *Items) Listen(job, subjob string, f func(ItemMessage)) (stop func(), err error) {
	hear := func(subject string, body []byte) {
		f(i.message(Stored{Message: events.Message{Subject: subject, Body: body}, Time: time.Now()}))
	}
	return i.hear(i.subjects(job, subjob), hear)
}

// ListenPieces calls f, one call at a time, for each message on the live subjects of a job, or of one SubJob, from now on, until stop. The
// pool is empty if the subject names none. Errors: those of SubscribeCore.
func (i *Items) ListenPieces(job, subjob string, f func(subjob, pool string, body []byte)) (stop func(), err error) {
	subjects := []string{i.names.Passing(job, cmp.Or(subjob, "*"), "")}
	if i.bus.Signed() { // Permissions of an earlier release have no other subjects.
		subjects = append(subjects, i.names.Passing(job, cmp.Or(subjob, "*"), "*"))
	}
	return i.hear(subjects, func(subject string, body []byte) { f(nthToken(subject, itemSubJob), nthToken(subject, itemPool), body) })
}

// hear calls f, one call at a time, for each message on some subjects.
func (i *Items) hear(subjects []string, f func(subject string, body []byte)) (stop func(), err error) {
	var one sync.Mutex
	var stops []func()
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, subject := range subjects {
		end, err := i.bus.SubscribeCore(subject, func(subject string, body []byte) {
			one.Lock()
			defer one.Unlock()
			f(subject, body)
		})
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, end)
	}
	return stop, nil
}

// subjects are those of the items of a job, or of one SubJob.
func (i *Items) subjects(job, subjob string) []string {
	if subjob == "" {
		return []string{i.names.Job(job)}
	}
	return []string{i.names.SubJob(job, subjob), i.names.In(job, subjob, "*")}
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
