package bus

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// KV is one key-value bucket, in the form that every NATS client reads.
type KV struct {
	bus    *Bus
	bucket string
}

// Entry is one value of a key.
type Entry struct {
	// Key names it, Value is nil when Deleted.
	Key   string
	Value []byte
	// Revision is the sequence in the bucket's stream, Time when it was written.
	Revision uint64
	Time     time.Time
	// Deleted is true for a key that was deleted or whose time ran out.
	Deleted bool
}

// State is the bucket of saved job states.
func (b *Bus) State() KV { return KV{b, b.names.State} }

// Experts is the bucket of the experts' cards.
func (b *Bus) Experts() KV { return KV{b, b.names.Experts} }

// Sessions is the bucket of conversations.
func (b *Bus) Sessions() KV { return KV{b, b.names.Sessions} }

// Plans is the bucket of books of plans and of the plan cache.
func (b *Bus) Plans() KV { return KV{b, b.names.Plans} }

// BookKey is the key of a book of plans in that bucket.
func BookKey(book string) string { return "book." + book }

// AgentBook names the book that the agents of a job keep; it goes with the job. No other book has such a name.
func AgentBook(job string) string { return job + "~agents" }

func (k KV) stream() string            { return "KV_" + k.bucket }
func (k KV) subject(key string) string { return "$KV." + k.bucket + "." + key }

const (
	headerOperation = "KV-Operation"
	headerTTL       = "Nats-TTL"
	headerRollup    = "Nats-Rollup"
	headerMarker    = "Nats-Marker-Reason"
)

// Get reads a key from any replica: what it gives may be old, and a new key may be missing. Errors: ErrNotFound, ErrUnavailable.
func (k KV) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	return k.get(ctx, key, k.bus.direct)
}

// GetLeader reads a key from the leader: what it gives was the truth when it was read. Errors: ErrNotFound, ErrUnavailable.
func (k KV) GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	return k.get(ctx, key, k.bus.leader)
}

// Entry reads a key from the leader with the time of its last change. Errors: ErrNotFound, ErrUnavailable.
func (k KV) Entry(ctx context.Context, key string) (Entry, error) {
	var at time.Time
	value, revision, err := k.get(ctx, key, func(ctx context.Context, stream string, q query) (Stored, error) {
		s, err := k.bus.leader(ctx, stream, q)
		at = s.Time
		return s, err
	})
	return Entry{Key: key, Value: value, Revision: revision, Time: at}, err
}

func (k KV) get(ctx context.Context, key string, read func(context.Context, string, query) (Stored, error)) ([]byte, uint64, error) {
	if err := k.valid(key); err != nil {
		return nil, 0, err
	}
	s, err := read(ctx, k.stream(), query{LastFor: k.subject(key)})
	if err == nil && deleted(&s.Message) {
		// The revision of a marker is what the next write has to expect.
		return nil, s.Seq, fmt.Errorf("get %s of %s: %w", key, k.bucket, ErrNotFound)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("get %s of %s: %w", key, k.bucket, err)
	}
	return s.Body, s.Seq, nil
}

func deleted(m *events.Message) bool {
	op := m.Get(headerOperation)
	return op == "DEL" || op == "PURGE" || m.Get(headerMarker) != ""
}

// valid admits tokens of ids joined by dots.
func (k KV) valid(key string) error {
	for token := range strings.SplitSeq(key, ".") {
		if !events.ValidToken(token) {
			return fmt.Errorf("key %.80q of %s: %w: want ids joined by dots", key, k.bucket, ErrRefused)
		}
	}
	return nil
}

// Put writes a key whatever it held. A ttl of 0 keeps it for ever; a longer one is at least a second.
func (k KV) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error) {
	return k.write(key, value, ttl, Expect{}).Wait(ctx)
}

// Update writes a key if it still has this revision, 0 for a key that was never written or is gone with its marker.
// Errors: ErrConflict, and those of Publish.
func (k KV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return k.UpdateAsync(key, value, revision).Wait(ctx)
}

// UpdateAsync is Update without waiting.
func (k KV) UpdateAsync(key string, value []byte, revision uint64) Ack {
	return k.write(key, value, 0, ExpectLast(revision))
}

func (k KV) write(key string, value []byte, ttl time.Duration, e Expect) Ack {
	if err := k.valid(key); err != nil {
		return failed(k.subject(key), err)
	}
	m := events.Message{Subject: k.subject(key), Body: value}
	if ttl > 0 {
		m.Header = map[string][]string{headerTTL: {max(ttl, time.Second).Round(time.Second).String()}}
	}
	return k.bus.PublishAsync(m, e)
}

// Last gives the revision of the latest change of any key, also of one that has gone since; 0 before the first. Errors: those of
// Streams.Info.
func (k KV) Last(ctx context.Context) (uint64, error) {
	facts, err := k.bus.Streams().Info(ctx, k.stream())
	return facts.LastSeq, err
}

// Delete removes a key. Who watches sees it go; the marker of that vanishes by itself. A key that is not there is no error.
func (k KV) Delete(ctx context.Context, key string) error { return k.remove(ctx, key, Expect{}) }

// Remove is Delete of a key that still has this revision. Errors: ErrConflict, and those of Publish.
func (k KV) Remove(ctx context.Context, key string, revision uint64) error {
	return k.remove(ctx, key, ExpectLast(revision))
}

func (k KV) remove(ctx context.Context, key string, e Expect) error {
	if err := k.valid(key); err != nil {
		return err
	}
	_, err := k.bus.Publish(ctx, events.Message{Subject: k.subject(key), Header: map[string][]string{
		headerOperation: {"PURGE"}, headerRollup: {"sub"}, headerTTL: {k.markerTTL().String()},
	}}, e)
	return err
}

func (k KV) markerTTL() time.Duration {
	if k.bucket == k.bus.names.Experts {
		return cardMarkerTTL
	}
	return markerTTL
}
