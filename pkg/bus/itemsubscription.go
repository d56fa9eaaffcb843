package bus

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ItemSubscription reads the live items of one job, or of one SubJob, stored and new. It belongs to one goroutine. As
// with JobSubscription, the first few have a consumer of their own, and all others share one.
type ItemSubscription struct {
	items       *Items
	job, subjob string
	sub         *Subscription // nil if it shares a consumer; then news announces what to read.
	news        *Listener
	after       uint64
}

// Follow reads the messages of a job, or of one SubJob if subjob is not empty, from a sequence on (0: from the first that
// is kept), in order, without end. The caller must call Stop. Errors: ErrRefused for an invalid id, ErrNotFound without the
// stream, ErrUnavailable.
func (i *Items) Follow(ctx context.Context, job, subjob string, from uint64) (*ItemSubscription, error) {
	if err := i.valid(job, subjob); err != nil {
		return nil, fmt.Errorf("follow live items: %w", err)
	}
	s := &ItemSubscription{items: i, job: job, subjob: subjob, after: max(from, 1) - 1}
	var err error
	if i.followed.Add(1) <= ownConsumers {
		s.sub, _, err = i.bus.log.follow(ctx, i.names.Stream(), i.subjects(job, subjob), FollowOptions{StartSeq: from}, false)
	} else {
		s.news, err = i.news.Listen(ctx, job)
	}
	if err != nil {
		i.followed.Add(-1)
		return nil, fmt.Errorf("follow live items of job %s: %w", job, err)
	}
	return s, nil
}

// Next blocks until there are messages. Errors: those of Subscription.Next and of Items.Of.
func (s *ItemSubscription) Next(ctx context.Context) ([]ItemMessage, error) {
	for {
		list, err := s.look(ctx)
		if err != nil || len(list) > 0 {
			return list, err
		}
		if s.news != nil {
			if _, err := s.news.Next(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// look returns new messages; with a consumer of its own it waits for them.
func (s *ItemSubscription) look(ctx context.Context) (list []ItemMessage, err error) {
	if s.sub == nil {
		for m, err := range s.items.Of(ctx, s.job, s.subjob, s.after) {
			if err != nil {
				return nil, err
			}
			list, s.after = append(list, m), m.Seq
		}
		return list, nil
	}
	batch, err := s.sub.Next(ctx, watchBatch)
	for i := range batch {
		m := batch[i].Message()
		list = append(list, s.items.message(Stored{Message: events.Message{Subject: m.Subject, Body: m.Body}, Seq: batch[i].Seq(), Time: batch[i].Time()}))
	}
	return list, err
}

// Stop ends the subscription.
func (s *ItemSubscription) Stop() {
	if s.sub != nil {
		s.sub.Stop()
	} else {
		s.news.Stop()
	}
	s.items.followed.Add(-1)
}
