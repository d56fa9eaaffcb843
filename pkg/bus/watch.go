package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// watchBatch is how many changes a watch takes at once.
const watchBatch = 256

// List gives every key with its value, in the order of their last change.
func (k KV) List(ctx context.Context) ([]Entry, error) { return k.all(ctx, false) }

// Keys gives every key, without values, in the order of their last change.
func (k KV) Keys(ctx context.Context) ([]string, error) {
	list, err := k.all(ctx, true)
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = list[i].Key
	}
	return keys, err
}

func (k KV) all(ctx context.Context, keysOnly bool) ([]Entry, error) {
	s, there, err := k.bus.follow(ctx, k.stream(), k.subject(">"), FollowOptions{}, keysOnly)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", k.bucket, err)
	}
	defer s.Stop()
	latest := map[string]int{}
	var list []Entry
	for more := there > 0; more; {
		batch, err := s.Next(ctx, watchBatch)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.bucket, err)
		}
		for i := range batch {
			e := k.entry(&batch[i])
			if at, ok := latest[e.Key]; ok {
				list[at].Deleted = true // A key that changes while it is read comes twice: the later one counts.
			}
			latest[e.Key] = len(list)
			list = append(list, e)
			more = batch[i].Pending() > 0
		}
	}
	live := list[:0]
	for _, e := range list {
		if !e.Deleted {
			live = append(live, e)
		}
	}
	return live, nil
}

func (k KV) entry(d *Delivery) Entry {
	m := d.Message()
	e := Entry{Key: strings.TrimPrefix(m.Subject, k.subject("")), Value: m.Body, Revision: d.Seq(), Time: d.Time()}
	if deleted(&m) {
		e.Deleted, e.Value = true, nil
	}
	return e
}

// Watch calls seen for every key, then ready once, then seen for every change, from one goroutine, until stop or the end of
// ctx. stop returns when the goroutine has ended; it must not be called from seen or ready.
func (k KV) Watch(ctx context.Context, ready func(), seen func(Entry)) (stop func(), err error) {
	return k.watch(ctx, ">", ready, seen)
}

func (k KV) watch(ctx context.Context, keys string, ready func(), seen func(Entry)) (stop func(), err error) {
	s, there, err := k.bus.follow(ctx, k.stream(), k.subject(keys), FollowOptions{}, false)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", k.bucket, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := k.tell(ctx, s, there == 0, ready, seen); !errors.Is(err, ErrClosed) && ctx.Err() == nil {
			k.bus.log.Error("watch ended", "bucket", k.bucket, "error", err)
		}
	}()
	return func() {
		s.Stop()
		<-done
	}, nil
}

func (k KV) tell(ctx context.Context, s *Subscription, complete bool, ready func(), seen func(Entry)) error {
	told := false
	for {
		if complete && !told {
			told = true
			if ready != nil {
				ready()
			}
		}
		batch, err := s.Next(ctx, watchBatch)
		if err != nil {
			return err
		}
		for i := range batch {
			seen(k.entry(&batch[i]))
			complete = complete || batch[i].Pending() == 0
		}
	}
}

// WatchKey calls seen for the value of one key, if there is one, and for every change of it, from one goroutine, until stop
// or the end of ctx. stop returns when the goroutine has ended; it must not be called from seen.
func (k KV) WatchKey(ctx context.Context, key string, seen func(Entry)) (stop func(), err error) {
	if err := k.valid(key); err != nil {
		return nil, err
	}
	return k.watch(ctx, key, nil, seen)
}
