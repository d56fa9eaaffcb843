package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// A client that may publish into a bucket can erase all of it with one header. So programs outside the engine ask a scheduler to write: a
// card of a pool on <prefix>.card.<pool>.<expert>, other keys on <prefix>.keep.<bucket>.<key>. The subject names what is written, so that
// permissions can decide who may write it: what an expert remembers, and the ids by which it knows sessions, are written on the subject of
// its card. A scheduler also puts back work for a runner, which may not publish work: its message could have the id of another pool's work,
// which the stream would then drop. And it stores what a runner sets aside.
//
// Earlier releases do not know the last four. Their runners write what experts remember and know on <prefix>.keep.<bucket>.<key>, which
// schedulers still accept, and publish work themselves, as accounts made by those releases permit. If a scheduler of such a release
// refuses an operation, a runner of this release does the same.

// keepOp is an operation on a key.
type keepOp string

const (
	keepPut     keepOp = "put"
	keepDelete  keepOp = "delete"
	keepPool    keepOp = "pool"
	keepWork    keepOp = "work"
	keepFacts   keepOp = "facts"
	keepContext keepOp = "context"
	keepAside   keepOp = "aside"
)

// poolKey takes the place of an expert in requests for the consumer of a pool, workKey in requests to put back work, asideKey in those to
// set work aside. No expert can have these ids.
const (
	poolKey  = "~pool"
	workKey  = "~work"
	asideKey = "~aside"
)

// keeping is a request to write a key.
type keeping struct {
	Op    keepOp        `json:"op"`
	Value []byte        `json:"value,omitempty"`
	TTL   time.Duration `json:"ttl,omitempty"`
	Last  *uint64       `json:"last,omitempty"`
	// Pool is the consumer that a pool needs.
	Pool *keptPool `json:"pool,omitempty"`
	// Key is the key of the facts that an expert remembers, or the session that it knows by an id.
	Key string `json:"key,omitempty"`
	// Work is the address of the work that is put back; Value is its body.
	Work *keptWork `json:"work,omitempty"`
	// Aside is the work that is set aside.
	Aside *aside `json:"aside,omitempty"`
}

// keptPool has the settings of a pool's consumer that its workers choose.
type keptPool struct {
	Batches bool          `json:"batches,omitempty"`
	AckWait time.Duration `json:"ack_wait,omitempty"`
	Most    int           `json:"most,omitempty"`
	Bounded bool          `json:"bounded,omitempty"`
}

// keptWork is the address of a member of a batch.
type keptWork struct {
	Subject string `json:"subject"`
	ID      string `json:"id"`
	Trace   string `json:"trace,omitempty"`
}

// keptReply is the answer to a request to write a key.
type keptReply struct {
	Revision uint64 `json:"revision,omitempty"`
	// Refused is the class of an error, Message its text.
	Refused string `json:"refused,omitempty"`
	Message string `json:"message,omitempty"`
}

// keepErrors are the errors that a reply can carry, by class.
var keepErrors = map[string]error{
	"conflict": ErrConflict, "refused": ErrRefused, "full": ErrFull, "too_large": ErrTooLarge, "unknown": ErrUnknown, "unavailable": ErrUnavailable,
	"not_permitted": ErrNotPermitted,
}

// orSubmit writes a key, or asks a scheduler to write it if this process may not.
func (k KV) orSubmit(ctx context.Context, key string, r keeping, write func() (uint64, error)) (uint64, error) {
	if !k.bus.denials.known(k.stream()) {
		expected := k.bus.denials.on(k.subject(key), func(string, error) {}) // The write itself learns of a refusal, which is not worth a warning.
		revision, err := write()
		expected()
		if !errors.Is(err, ErrNotPermitted) {
			return revision, err
		}
		k.bus.denials.note(k.stream())
	}
	return k.submit(ctx, key, r)
}

// submit asks a scheduler to write a key that this process may not write itself.
func (k KV) submit(ctx context.Context, key string, r keeping) (uint64, error) {
	subject := k.bus.names.Keep(k.bucket, key)
	if k.bucket == k.bus.names.Experts {
		value := r.Value
		if r.Op == keepDelete {
			var err error
			if value, _, err = k.GetLeader(ctx, key); errors.Is(err, ErrNotFound) {
				return 0, nil
			} else if err != nil {
				return 0, err
			}
		}
		subject = k.bus.names.Card(poolOf(value), key)
	}
	var revision uint64
	var err error
	if expert := rememberer(key); k.bucket == k.bus.names.Memory && expert != "" && r.Op == keepPut {
		revision, err = k.submitFacts(ctx, expert, key, r)
	} else {
		revision, err = k.bus.Services().submit(ctx, subject, r)
	}
	if err != nil {
		return 0, fmt.Errorf("write %s of %s: %w", key, k.bucket, err)
	}
	return revision, nil
}

// submitFacts asks a scheduler to write what an expert remembers.
func (k KV) submitFacts(ctx context.Context, expert, key string, r keeping) (uint64, error) {
	card, _, err := k.bus.Experts().GetLeader(ctx, expert)
	if err != nil {
		return 0, fmt.Errorf("read the card of %s: %w", expert, err)
	}
	facts := r
	facts.Op, facts.Key = keepFacts, key
	revision, err := k.bus.Services().submit(ctx, k.bus.names.Card(poolOf(card), expert), facts)
	if unknownTo(err) {
		return instead(err, func() (uint64, error) { return k.bus.Services().submit(ctx, k.bus.names.Keep(k.bucket, key), r) })
	}
	return revision, err
}

// unknownOperation is how a scheduler refuses an operation that it does not know.
const unknownOperation = "unknown operation"

// unknownTo reports whether a scheduler of an earlier release has refused an operation.
func unknownTo(err error) bool {
	return errors.Is(err, ErrRefused) && strings.Contains(err.Error(), unknownOperation)
}

// instead does what a runner of an earlier release does, after a scheduler of that release has refused. Where the accounts are already
// those of this release, the server does not permit it.
func instead(refusal error, do func() (uint64, error)) (uint64, error) {
	seq, err := do()
	if errors.Is(err, ErrNotPermitted) {
		return 0, fmt.Errorf("%w; the scheduler is of an earlier release than the permissions on the bus: upgrade schedulers first", refusal)
	}
	return seq, err
}

// rememberer returns the expert whose facts about a user a key of the memory has; "" for other keys, which only the engine writes.
func rememberer(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) != 3 || parts[0] != "fact" {
		return ""
	}
	return parts[2]
}

// submitPool asks a scheduler to create or change the consumer of a pool.
func (q *Queues) submitPool(ctx context.Context, pool string, c ConsumerSpec) error {
	of, batches := batch.Of(pool)
	r := keeping{Op: keepPool, Pool: &keptPool{Batches: batches, AckWait: c.AckWait, Most: c.MaxAckPending, Bounded: c.Bounded}}
	_, err := q.bus.Services().submit(ctx, q.bus.names.Card(of, poolKey), r)
	if err != nil {
		return fmt.Errorf("ensure pool %s: %w", pool, err)
	}
	return nil
}

// PutBack publishes a member of a batch of a pool as a message of its own. Where signatures count, or if this process may not, it asks a
// scheduler to. The message is sent at once if it is published; wait returns when it is stored. Errors: those of Publish.
func (q *Queues) PutBack(pool string, m *batch.Member) (wait func(context.Context) error) {
	denied := q.bus.Signed() || q.bus.denials.known(q.bus.names.Work)
	var ack Ack
	if !denied {
		ack = q.bus.PublishAsync(m.Message(), Expect{})
	}
	return func(ctx context.Context) error {
		if !denied {
			_, err := ack.Wait(ctx)
			if !errors.Is(err, ErrNotPermitted) {
				return err
			}
			q.bus.denials.note(q.bus.names.Work)
		}
		r := keeping{Op: keepWork, Value: m.Work, Work: &keptWork{Subject: m.Subject, ID: m.ID, Trace: m.Trace}}
		_, err := q.bus.Services().submit(ctx, q.bus.names.Card(pool, workKey), r)
		if unknownTo(err) {
			_, err = instead(err, func() (uint64, error) { return q.bus.Publish(ctx, m.Message(), Expect{}) })
		}
		if err != nil {
			return fmt.Errorf("put back %s: %w", m.Subject, err)
		}
		return nil
	}
}

// submit sends a request to write.
func (s Services) submit(ctx context.Context, subject string, r keeping) (uint64, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	answer, _, err := s.Ask(ctx, subject, nil, body)
	if errors.Is(err, ErrNobody) {
		err = fmt.Errorf("%w: no scheduler answers on %s", ErrUnavailable, subject)
	}
	var made keptReply
	if err == nil && json.Unmarshal(answer, &made) != nil {
		err = fmt.Errorf("%w: the answer is no JSON", ErrUnknown)
	}
	if err == nil && made.Refused != "" {
		class := keepErrors[made.Refused]
		if class == nil {
			class = ErrRefused
		}
		err = fmt.Errorf("%w: %s", class, made.Message)
	}
	return made.Revision, err
}

// poolOf returns the pool that a card names.
func poolOf(card []byte) string {
	var c struct {
		Pool string `json:"pool"`
	}
	if json.Unmarshal(card, &c) != nil || c.Pool == "" {
		return events.DefaultPool
	}
	return c.Pool
}

// Keep writes on behalf of programs outside the engine, until stop, which waits for accepted requests. Several schedulers share the
// requests.
func (s Services) Keep() (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	accepted := newRequests()
	take := func(m *nats.Msg) {
		accepted.take(func() { s.keep(ctx, m) }, func() {
			s.kept(m, keptReply{}, fmt.Errorf("%w: the scheduler has just stopped", ErrUnavailable))
		})
	}
	var subs []*nats.Subscription
	stop = func() {
		for _, sub := range subs {
			_ = sub.Drain() // The connection may be closed already.
		}
		_ = s.bus.nc.Flush() // After this, all that the server sent has arrived; without a connection nothing comes.
		accepted.close()
		cancel()
	}
	n := s.bus.names
	for _, subject := range []string{n.Card("*", "*"), n.Keep(n.Memory, "fact.*.*"), n.Keep(n.Sessions, contexts+"*"), n.Keep(n.Sessions, ChatKey("*"))} {
		sub, err := s.bus.nc.QueueSubscribe(subject, "keep", take)
		if err != nil {
			stop()
			return nil, fmt.Errorf("keep for others: %w", class(err))
		}
		subs = append(subs, sub)
	}
	return stop, nil
}

// keep answers one request to write a key.
func (s Services) keep(ctx context.Context, m *nats.Msg) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var r keeping
	var made keptReply
	err := json.Unmarshal(m.Data, &r)
	if err != nil {
		err = fmt.Errorf("%w: the request is no JSON: %v", ErrRefused, err)
	} else {
		made.Revision, err = s.write(ctx, m.Subject, r)
	}
	s.kept(m, made, err)
}

// kept sends the answer to a request to write a key.
func (s Services) kept(m *nats.Msg, made keptReply, err error) {
	if err != nil {
		made.Refused, made.Message = "refused", err.Error()
		for name, class := range keepErrors { // any order: an error has one class.
			if errors.Is(err, class) {
				made.Refused = name
			}
		}
	}
	if m.Reply == "" || !s.bus.mayAnswer(m.Reply) {
		return
	}
	body, _ := json.Marshal(made) // Numbers and strings can always be encoded.
	if err := s.bus.nc.Publish(m.Reply, body); err != nil {
		s.bus.logger.Warn("cannot answer a request to write", "subject", m.Subject, "error", err)
	}
}

// write writes the key or consumer that a subject names: one to which Keep has subscribed.
func (s Services) write(ctx context.Context, subject string, r keeping) (uint64, error) {
	n := s.bus.names
	if rest, ok := strings.CutPrefix(subject, n.Prefix()+".card."); ok {
		pool, expert, _ := strings.Cut(rest, ".")
		return s.writeCard(ctx, pool, expert, r)
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(subject, n.Prefix()+".keep."), ".")
	earlier := bucket == n.Memory || strings.HasPrefix(key, contexts) // Only runners of earlier releases write this here.
	if earlier && r.Op != keepPut {
		return 0, fmt.Errorf("%w: only the engine writes %s of %s", ErrRefused, key, bucket)
	}
	return s.apply(ctx, KV{s.bus, bucket}, key, r)
}

// writeCard writes the card of an expert of a pool. It refuses an expert that belongs to another pool.
func (s Services) writeCard(ctx context.Context, pool, expert string, r keeping) (uint64, error) {
	if r.Op == keepPool && r.Pool != nil && expert == poolKey {
		return 0, s.writePool(ctx, pool, r.Pool)
	}
	if r.Op == keepWork && r.Work != nil && expert == workKey {
		return s.writeWork(ctx, pool, r)
	}
	if r.Op == keepAside && r.Aside != nil && expert == asideKey {
		return 0, s.writeAside(ctx, pool, r.Aside)
	}
	if r.Op == keepPut {
		var card struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(r.Value, &card) != nil || card.ID != expert || poolOf(r.Value) != pool {
			return 0, fmt.Errorf("%w: the card is not that of expert %s of pool %s", ErrRefused, expert, pool)
		}
	}
	was, _, err := s.bus.Experts().GetLeader(ctx, expert)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return 0, err
	case err == nil && poolOf(was) != pool:
		return 0, fmt.Errorf("%w: expert %s belongs to pool %s", ErrNotPermitted, expert, poolOf(was))
	case r.Op == keepFacts && (err != nil || rememberer(r.Key) != expert):
		return 0, fmt.Errorf("%w: %.200q has no facts of expert %s of pool %s", ErrNotPermitted, r.Key, expert, pool)
	case r.Op == keepContext && err != nil:
		return 0, fmt.Errorf("%w: pool %s has no expert %s", ErrNotPermitted, pool, expert)
	case r.Op == keepContext:
		return 0, s.writeContext(ctx, expert, r)
	case r.Op == keepFacts:
		r.Op = keepPut
		return s.apply(ctx, s.bus.Memory(), r.Key, r)
	case r.Op == keepPut:
		if err := s.namesake(ctx, pool, r.Value, was); err != nil {
			return 0, err
		}
	}
	return s.apply(ctx, s.bus.Experts(), expert, r)
}

// writePool creates or changes the consumer of a pool.
func (s Services) writePool(ctx context.Context, pool string, p *keptPool) error {
	if p.Batches {
		pool = batch.Pool(pool)
	}
	q := s.bus.Queues()
	c := q.ForeignConsumer(pool)
	c.AckWait, c.MaxAckPending, c.Bounded = min(max(p.AckWait, 0), defaultAckWait), max(p.Most, 0), p.Bounded
	return q.EnsureConsumer(ctx, c)
}

// writeWork publishes work that a runner puts back, if it is work of the runner's pool. Its message id begins with the pool, so that no
// runner can take the ids of other messages.
func (s Services) writeWork(ctx context.Context, pool string, r keeping) (uint64, error) {
	rest, ok := strings.CutPrefix(r.Work.Subject, s.bus.names.Prefix()+".work."+pool+".")
	run, err := strconv.Atoi(nthToken(rest, 3))
	if !ok || err != nil || run < 1 || strings.Count(rest, ".") != 3 || !literal(rest) || r.Work.ID == "" || !json.Valid(r.Value) {
		return 0, fmt.Errorf("%w: %.200q is no work of pool %s", ErrRefused, r.Work.Subject, pool)
	}
	member := batch.Member{Subject: r.Work.Subject, ID: r.Work.ID, Trace: r.Work.Trace, Work: r.Value}
	m := member.Message()
	m.Header[events.HeaderMsgID] = []string{pool + "~back/" + r.Work.ID}
	return s.bus.Publish(ctx, m, Expect{})
}

func (s Services) apply(ctx context.Context, k KV, key string, r keeping) (uint64, error) {
	switch {
	case r.Op == keepPut && r.Last != nil:
		return k.UpdateFor(ctx, key, r.Value, *r.Last, r.TTL)
	case r.Op == keepPut:
		return k.Put(ctx, key, r.Value, r.TTL)
	case r.Op == keepDelete && r.Last != nil:
		return 0, k.Remove(ctx, key, *r.Last)
	case r.Op == keepDelete:
		return 0, k.Delete(ctx, key)
	}
	return 0, fmt.Errorf("%w: %s %.20q", ErrRefused, unknownOperation, r.Op)
}
