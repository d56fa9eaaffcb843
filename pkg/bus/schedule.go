package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// schedules returns the stream of the facts of schedules. Their due timers are sourced into it. They share a stream with
// the timers of jobs, which have one more token and go into the log.
func schedules(n events.Names) jetstream.StreamConfig {
	s := schedule.NewNames(n)
	return jetstream.StreamConfig{
		Name: s.Stream(), Description: "the facts of schedules", Subjects: []string{s.All()},
		DenyDelete: true, Discard: jetstream.DiscardNew,
		Sources: []*jetstream.StreamSource{{Name: n.Timers, SubjectTransforms: []jetstream.SubjectTransformConfig{
			{Source: s.DueAt("*", "*"), Destination: s.Fact("{{wildcard(1)}}", schedule.Due, "{{wildcard(2)}}")},
		}}},
	}
}

// EndsConsumer returns the only consumer of job ends for the execution of schedules.
func (q *Queues) EndsConsumer() ConsumerSpec {
	c := ConsumerSpec{Stream: q.bus.names.Log, Durable: "schedules"}
	for _, k := range []events.Kind{events.KindJobFinished, events.KindJobFailed, events.KindJobStopped} {
		c.Filters = append(c.Filters, q.bus.names.Prefix()+".event.*.*."+string(k))
	}
	return c
}

// Schedules gives access to the facts of schedules and their timers.
type Schedules struct {
	bus   *Bus
	names schedule.Names
}

// Schedules returns the facts of schedules and their timers.
func (b *Bus) Schedules() Schedules { return Schedules{b, schedule.NewNames(b.names)} }

// Names returns the names of the subjects and the stream of schedules.
func (s Schedules) Names() schedule.Names { return s.names }

// Follow reads the facts of all schedules from the first stored one on, in order, without gaps and without end.
func (s Schedules) Follow(ctx context.Context) (*Subscription, error) {
	sub, _, err := s.bus.Log().follow(ctx, s.names.Stream(), []string{s.names.All()}, FollowOptions{}, false)
	return sub, err
}

// Fact decodes a delivery of Follow; ok is false if its subject is not that of a schedule.
func (s Schedules) Fact(d *Delivery) (f schedule.Fact, ok bool) {
	f, ok = schedule.Decode(s.names, d.Message())
	f.Seq, f.Time = d.Seq(), d.Time()
	return f, ok
}

// State publishes a fact under an expectation. Errors: those of Publish.
func (s Schedules) State(ctx context.Context, f schedule.Fact, e Expect) (uint64, error) {
	m, err := schedule.Encode(s.names, f)
	if err != nil {
		return 0, err
	}
	return s.bus.Publish(ctx, m, e)
}

// Last returns the sequence of the last fact of all schedules, from the leader; 0 if there is none.
func (s Schedules) Last(ctx context.Context) (uint64, error) {
	return s.bus.lastOf(ctx, s.names.Stream(), s.names.All())
}

// Arm arms a timer that publishes the fact that a run is due, at a time that may have passed. Arming the same timer again
// changes nothing. Only the scheduler may do this.
func (s Schedules) Arm(ctx context.Context, id, key string, at time.Time) error {
	due, _ := schedule.Moment(key)
	body, err := json.Marshal(schedule.Moved{Due: due})
	if err != nil {
		return fmt.Errorf("encode timer: %w", err)
	}
	_, err = s.bus.Publish(ctx, events.Message{Subject: s.names.Timer(id, key), Body: body, Header: map[string][]string{
		events.HeaderSpec: {"1.0"}, events.HeaderType: {schedule.Due.Type()}, events.HeaderSource: {"jobgraph/timer"},
		events.HeaderID:                {id + "/" + string(schedule.Due) + "/" + key},
		jetstream.ScheduleHeader:       {"@at " + at.UTC().Format(time.RFC3339Nano)},
		jetstream.ScheduleTargetHeader: {s.names.DueAt(id, key)},
		jetstream.ScheduleTTLHeader:    {dueTTL.String()},
	}}, Expect{})
	return err
}

// Erase removes the timers of a schedule, and its facts below a sequence.
func (s Schedules) Erase(ctx context.Context, id string, below uint64) error {
	if !schedule.ValidID(id) {
		return fmt.Errorf("erase schedule %.80q: %w: no id", id, ErrRefused)
	}
	if err := s.bus.Streams().Purge(ctx, s.bus.names.Timers, s.names.Timers(id)); err != nil {
		return err
	}
	return s.Forget(ctx, id, below)
}

// Forget removes the facts of a schedule below a sequence.
func (s Schedules) Forget(ctx context.Context, id string, below uint64) error {
	return s.bus.Streams().purge(ctx, s.names.Stream(), s.names.Facts(id), below)
}
