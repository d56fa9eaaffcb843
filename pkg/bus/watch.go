package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// watchBatch is how many changes a watch reads at once.
const watchBatch = 256

// List returns every key with its value, in the order of their last change.
func (k KV) List(ctx context.Context) ([]Entry, error) { return k.all(ctx, false) }

// Expired returns the keys that have expired and were not written since, in the order in which they expired. They are known as long as
// watchers can see them expire: an hour, the cards of experts a minute.
func (k KV) Expired(ctx context.Context) ([]Entry, error) {
	list, err := k.read(ctx, true)
	return slices.DeleteFunc(list, func(e Entry) bool { return !e.Expired }), err
}

// Keys returns every key without its value, in the order of their last change.
func (k KV) Keys(ctx context.Context) ([]string, error) {
	list, err := k.all(ctx, true)
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = list[i].Key
	}
	return keys, err
}

func (k KV) all(ctx context.Context, keysOnly bool) ([]Entry, error) {
	list, err := k.read(ctx, keysOnly)
	return slices.DeleteFunc(list, func(e Entry) bool { return e.Deleted }), err
}

// read returns the last entry of each key, also of those that were deleted or have expired.
func (k KV) read(ctx context.Context, keysOnly bool) ([]Entry, error) {
	s, there, err := k.bus.Log().follow(ctx, k.stream(), []string{k.subject(">")}, FollowOptions{}, keysOnly)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.bucket, err)
	}
	defer s.Stop()
	c := &census{bucket: k, keys: map[string]int{}, due: there == 0}
	var list []Entry
	for {
		whole, err := c.whole(ctx)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.bucket, err)
		}
		if whole {
			break
		}
		batch, err := c.next(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.bucket, err)
		}
		for i := range batch {
			e := k.entry(&batch[i])
			if at, ok := c.keys[e.Key]; ok {
				list[at].Key = "" // A key that changes during the read comes twice; the later one counts.
			}
			c.keys[e.Key] = len(list)
			list = append(list, e)
		}
	}
	return slices.DeleteFunc(list, func(e Entry) bool { return e.Key == "" }), nil
}

func (k KV) entry(d *Delivery) Entry {
	m := d.Message()
	e := Entry{Key: strings.TrimPrefix(m.Subject, k.subject("")), Value: m.Body, Revision: d.Seq(), Time: d.Time()}
	if deleted(&m) {
		e.Deleted, e.Expired, e.Value = true, m.Get(headerMarker) == markerExpired, nil
	}
	return e
}

// Watch calls seen for every key, then ready once, then seen for every change, from one goroutine, until stop or the end of
// ctx. stop returns when the goroutine has ended; it must not be called from seen or ready.
func (k KV) Watch(ctx context.Context, ready func(), seen func(Entry)) (stop func(), err error) {
	return k.watch(ctx, ">", ready, seen)
}

// Each calls seen for every key, one at a time, so that not all values have to fit into memory. A key that changes
// during the call is seen again.
func (k KV) Each(ctx context.Context, seen func(Entry)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	whole := make(chan struct{})
	stop, err := k.watch(ctx, ">", func() { close(whole) }, seen)
	if err != nil {
		return err
	}
	defer stop()
	select {
	case <-whole:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("read %s: %w", k.bucket, ctx.Err())
	}
}

func (k KV) watch(ctx context.Context, keys string, ready func(), seen func(Entry)) (stop func(), err error) {
	s, there, err := k.bus.Log().follow(ctx, k.stream(), []string{k.subject(keys)}, FollowOptions{}, false)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.bucket, err)
	}
	done := make(chan struct{})
	var c *census
	if ready != nil {
		c = &census{bucket: k, keys: map[string]int{}, due: there == 0}
	}
	go func() {
		defer close(done)
		if err := k.tell(ctx, s, c, ready, seen); !errors.Is(err, ErrClosed) && ctx.Err() == nil {
			k.bus.logger.Error("watch ended", "bucket", k.bucket, "error", err)
		}
	}()
	return func() {
		s.Stop()
		<-done
	}, nil
}

// tell reports changes until the census is complete; for a watch without a census c is nil.
func (k KV) tell(ctx context.Context, s *Subscription, c *census, ready func(), seen func(Entry)) error {
	for {
		whole, err := c.whole(ctx)
		if errors.Is(err, ErrClosed) || ctx.Err() != nil {
			return err
		}
		if whole && err == nil { // Otherwise it is counted again soon.
			ready()
			c = nil
		}
		batch, err := c.next(ctx, s)
		if err != nil {
			return err
		}
		for i := range batch {
			e := k.entry(&batch[i])
			c.count(&e)
			seen(e)
		}
	}
}

// census decides when every key of a bucket has been read. The server's count of pending messages may be wrong in both
// directions if keys change during the read: nats-server 2.15 sometimes subtracts an expired value twice, and sometimes too
// late. So the keys themselves are counted. The methods of a nil census do nothing.
type census struct {
	bucket KV
	keys   map[string]int // The values belong to the caller.
	due    bool           // It is time to count: the server reports nothing pending, or nothing has arrived for a while.
}

// recount is how long nothing may arrive before the keys are counted.
const recount = 100 * time.Millisecond

func (c *census) count(e *Entry) {
	if c != nil {
		c.keys[e.Key] = 0
	}
}

// whole reports whether all keys have been read. Errors: those of Streams.Info.
func (c *census) whole(ctx context.Context) (bool, error) {
	if c == nil || !c.due {
		return false, nil
	}
	facts, err := c.bucket.bus.Streams().Info(ctx, c.bucket.stream())
	return uint64(len(c.keys)) >= facts.Subjects, err
}

// next is like Subscription.Next, but returns nothing when it is time to count again.
func (c *census) next(ctx context.Context, s *Subscription) ([]Delivery, error) {
	if c == nil {
		return s.Next(ctx, watchBatch)
	}
	soon, cancel := context.WithTimeout(ctx, recount)
	defer cancel()
	batch, err := s.Next(soon, watchBatch)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		c.due = true
		return nil, nil
	}
	if len(batch) > 0 {
		c.due = batch[len(batch)-1].Pending() == 0
	}
	return batch, err
}

// WatchKey calls seen for the value of one key, if it has one, and for every change, from one goroutine, until stop or the
// end of ctx. stop returns when the goroutine has ended; it must not be called from seen.
func (k KV) WatchKey(ctx context.Context, key string, seen func(Entry)) (stop func(), err error) {
	if err := k.valid(key); err != nil {
		return nil, err
	}
	return k.watch(ctx, key, nil, seen)
}
