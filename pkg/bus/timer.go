package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// dueTTL is how long a due message stays in the stream from which the log sources it.
const dueTTL = 24 * time.Hour

// Timers arms timers of jobs, which the broker publishes into the log.
type Timers struct{ bus *Bus }

// Arm schedules timer.fired in the log of a job. Arming the same timer again replaces it. A time in the past fires at once.
// No timer fires early; each fires up to a quarter of a second late. Only the scheduler may do this.
func (t Timers) Arm(job, timer string, at time.Time) Ack {
	subject := t.bus.names.Timer(job, timer)
	body, err := json.Marshal(events.TimerFired{Timer: timer, Due: at.UTC()})
	if err != nil {
		return failed(subject, fmt.Errorf("encode timer: %w", err))
	}
	return t.bus.PublishAsync(events.Message{Subject: subject, Body: body, Header: map[string][]string{
		events.HeaderSpec: {"1.0"}, events.HeaderType: {events.KindTimerFired.Type()}, events.HeaderSource: {"jobgraph/timer"},
		events.HeaderID:                {run.FactID(job, events.KindTimerFired, timer)},
		jetstream.ScheduleHeader:       {"@at " + at.UTC().Format(time.RFC3339Nano)},
		jetstream.ScheduleTargetHeader: {t.bus.names.Due(job, timer)},
		jetstream.ScheduleTTLHeader:    {dueTTL.String()},
	}}, Expect{})
}

// Cancel disarms a timer; disarming one that is not armed is not an error. A timer that is already due still fires.
func (t Timers) Cancel(ctx context.Context, job, timer string) error {
	if !events.ValidToken(job) || !events.ValidToken(timer) {
		return fmt.Errorf("cancel timer %.80q of job %.80q: %w: no id", timer, job, ErrRefused)
	}
	return t.bus.Streams().Purge(ctx, t.bus.names.Timers, t.bus.names.Timer(job, timer))
}

// Purge disarms all timers of a job.
func (t Timers) Purge(ctx context.Context, job string) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("purge timers: %w", err)
	}
	return t.bus.Streams().Purge(ctx, t.bus.names.Timers, t.bus.names.JobTimers(job))
}
