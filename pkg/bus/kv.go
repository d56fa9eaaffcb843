package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// KV is a key-value bucket in the format of all NATS clients.
type KV struct {
	bus    *Bus
	bucket string
}

// Entry is the value of a key.
type Entry struct {
	// Key is the key; Value is nil if Deleted.
	Key   string
	Value []byte
	// Revision is the sequence in the bucket's stream, Time when the value was written.
	Revision uint64
	Time     time.Time
	// Deleted is true if the key was deleted or has expired, Expired if it has expired; Time is when that happened.
	Deleted, Expired bool
}

// State returns the bucket of saved job states.
func (b *Bus) State() KV { return KV{b, b.names.State} }

// Experts returns the bucket of expert cards.
func (b *Bus) Experts() KV { return KV{b, b.names.Experts} }

// Sessions returns the bucket of session records.
func (b *Bus) Sessions() KV { return KV{b, b.names.Sessions} }

// Plans returns the bucket of plan documents and of the plan cache.
func (b *Bus) Plans() KV { return KV{b, b.names.Plans} }

// Memory returns the bucket of what experts remember of users, and of the names of global bases of knowledge.
func (b *Bus) Memory() KV { return KV{b, b.names.Memory} }

// BookKey is the key of a book of plan documents in the bucket that Plans returns.
func BookKey(book string) string { return "book." + book }

// AgentBook names the book of a job's agents, which is deleted with the job. No other book can have that name.
func AgentBook(job string) string { return job + "~agents" }

func (k KV) stream() string            { return "KV_" + k.bucket }
func (k KV) subject(key string) string { return "$KV." + k.bucket + "." + key }

const (
	headerOperation = "KV-Operation"
	headerTTL       = "Nats-TTL"
	headerRollup    = "Nats-Rollup"
	headerMarker    = "Nats-Marker-Reason"
	markerExpired   = "MaxAge"
)

// Get reads a key from any replica: the value may be old, and a new key may be missing. Errors: ErrNotFound,
// ErrUnavailable.
func (k KV) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	return k.get(ctx, key, k.bus.direct)
}

// GetLeader reads a key from the leader: the value is never stale. Errors: ErrNotFound, ErrUnavailable.
func (k KV) GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	return k.get(ctx, key, k.bus.leader)
}

// Entry reads a key from the leader, with the time of its last change. Errors: ErrNotFound, ErrUnavailable.
func (k KV) Entry(ctx context.Context, key string) (Entry, error) {
	var at time.Time
	value, revision, err := k.get(ctx, key, func(ctx context.Context, stream string, q query) (Stored, error) {
		s, err := k.bus.leader(ctx, stream, q)
		at = s.Time
		return s, err
	})
	return Entry{Key: key, Value: value, Revision: revision, Time: at}, err
}

// Under returns the entries whose keys begin with some tokens and a dot, sorted by key. It reads each from the leader. A bucket
// that does not exist has none. Errors: ErrUnavailable.
func (k KV) Under(ctx context.Context, tokens string) ([]Entry, error) {
	if err := k.valid(tokens); err != nil {
		return nil, err
	}
	subjects, err := k.bus.Streams().Subjects(ctx, k.stream(), k.subject(tokens+".>"))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		e, err := k.Entry(ctx, strings.TrimPrefix(subject, k.subject("")))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func (k KV) get(ctx context.Context, key string, read func(context.Context, string, query) (Stored, error)) ([]byte, uint64, error) {
	if err := k.valid(key); err != nil {
		return nil, 0, err
	}
	s, err := read(ctx, k.stream(), query{LastFor: k.subject(key)})
	if err == nil && deleted(&s.Message) {
		// The next write must expect the revision of the deletion marker.
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

// valid accepts keys that consist of id tokens joined by dots.
func (k KV) valid(key string) error {
	for token := range strings.SplitSeq(key, ".") {
		if !events.ValidToken(token) {
			return fmt.Errorf("key %.80q of %s: %w: want ids joined by dots", key, k.bucket, ErrRefused)
		}
	}
	return nil
}

// Put writes a key unconditionally. A ttl of 0 keeps it for ever; any other ttl is at least a second.
func (k KV) Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error) {
	return k.orSubmit(ctx, key, keeping{Op: keepPut, Value: value, TTL: ttl}, func() (uint64, error) {
		return k.write(key, value, ttl, Expect{}).Wait(ctx)
	})
}

// PutAll writes the keys and values of entries like Put, together: an idle process and its server wake once for all of them. The
// entries before one that fails may have been written.
func (k KV) PutAll(ctx context.Context, entries []Entry, ttl time.Duration) error {
	acks := make([]Ack, len(entries))
	for i, e := range entries {
		if i == 1 && !k.bus.denials.known(k.stream()) { // The first one has shown whether this process may write.
			for n := i; n < len(entries); n++ {
				acks[n] = k.write(entries[n].Key, entries[n].Value, ttl, Expect{})
			}
		}
		_, err := k.orSubmit(ctx, e.Key, keeping{Op: keepPut, Value: e.Value, TTL: ttl}, func() (uint64, error) {
			if acks[i] == (Ack{}) {
				acks[i] = k.write(e.Key, e.Value, ttl, Expect{})
			}
			return acks[i].Wait(ctx)
		})
		if err != nil {
			return fmt.Errorf("put %s: %w", e.Key, err)
		}
	}
	return nil
}

// Update writes a key if it still has this revision; 0 means that it was never written, or that its deletion marker has
// expired. Errors: ErrConflict, and those of Publish.
func (k KV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return k.orSubmit(ctx, key, keeping{Op: keepPut, Value: value, Last: &revision}, func() (uint64, error) {
		return k.UpdateAsync(key, value, revision).Wait(ctx)
	})
}

// UpdateFor is like Update, for a key that expires after ttl, at least a second.
func (k KV) UpdateFor(ctx context.Context, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	return k.orSubmit(ctx, key, keeping{Op: keepPut, Value: value, TTL: ttl, Last: &revision}, func() (uint64, error) {
		return k.write(key, value, ttl, ExpectLast(revision)).Wait(ctx)
	})
}

// UpdateAsync is like Update, without waiting.
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

// Last returns the revision of the latest change of any key, including deletions; 0 before the first. Errors: those of
// Streams.Info.
func (k KV) Last(ctx context.Context) (uint64, error) {
	facts, err := k.bus.Streams().Info(ctx, k.stream())
	return facts.LastSeq, err
}

// Delete removes a key. Watchers see the deletion; its marker expires by itself. Deleting a key that does not exist is not
// an error.
func (k KV) Delete(ctx context.Context, key string) error { return k.remove(ctx, key, Expect{}) }

// Remove deletes a key if it still has this revision. Errors: ErrConflict, and those of Publish.
func (k KV) Remove(ctx context.Context, key string, revision uint64) error {
	return k.remove(ctx, key, ExpectLast(revision))
}

func (k KV) remove(ctx context.Context, key string, e Expect) error {
	if err := k.valid(key); err != nil {
		return err
	}
	_, err := k.orSubmit(ctx, key, keeping{Op: keepDelete, Last: e.Last}, func() (uint64, error) {
		return k.bus.Publish(ctx, events.Message{Subject: k.subject(key), Header: map[string][]string{
			headerOperation: {"PURGE"}, headerRollup: {"sub"}, headerTTL: {k.markerTTL().String()},
		}}, e)
	})
	return err
}

func (k KV) markerTTL() time.Duration {
	if k.bucket == k.bus.names.Experts {
		return cardMarkerTTL
	}
	return markerTTL
}
