package intake

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Meter counts requests by what became of them: admitted, duplicate, rejected or postponed.
type Meter interface {
	CountRequest(result string)
}

// Queue is where requests wait.
type Queue interface {
	// Next blocks for the first request and adds what else is there.
	Next(ctx context.Context, max int) ([]bus.Delivery, error)
}

// Teller sends messages that nobody keeps.
type Teller interface {
	PublishCore(subject string, header map[string][]string, body []byte) error
}

// Consumer admits queued requests.
type Consumer struct {
	// Admitter admits, Gate holds back.
	Admitter *Admitter
	Gate     *Gate
	// Queue and Teller are the bus's; Stream identifies the queue.
	Queue  Queue
	Teller Teller
	Stream string
	// Rejected is where rejections are announced.
	Rejected string
	Meter    Meter
	Logger   *slog.Logger
}

// batchSize is how many requests are taken at once; bytesAtOnce how large those together are that are admitted side by side,
// for each of which some copies are made. One counts as leastBytes at least.
const (
	batchSize   = 256
	bytesAtOnce = 1 << 20
	leastBytes  = bytesAtOnce / batchSize
)

// Run admits requests, many side by side, until ctx ends or the queue is closed. A request under way is finished with work.
func (c *Consumer) Run(ctx, work context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	room := semaphore.NewWeighted(bytesAtOnce)
	for {
		if err := c.await(ctx); err != nil {
			return nil
		}
		list, err := c.Queue.Next(ctx, batchSize)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range list {
			d := list[i] // Alone: one that takes long does not keep the others of its batch in memory.
			size := int64(min(max(len(d.Message().Body), leastBytes), bytesAtOnce))
			if room.Acquire(work, size) != nil {
				return nil // What was not begun comes again.
			}
			all.Go(func() { // Ends with the request; at most batchSize of them.
				defer room.Release(size)
				c.take(work, &d)
			})
		}
	}
}

// await returns when the gate is open.
func (c *Consumer) await(ctx context.Context) error {
	told := false
	for {
		reason := c.Gate.Closed(ctx)
		if reason == "" {
			return ctx.Err()
		}
		if !told {
			c.Logger.Warn("no job is admitted", "reason", reason)
			told = true
		}
		again := time.NewTimer(lookEvery)
		select {
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-again.C:
		}
	}
}

// take admits one request and settles its delivery. Nothing it meets is a reason to stop.
func (c *Consumer) take(ctx context.Context, d *bus.Delivery) {
	m := d.Message()
	admission, err := c.Admitter.Admit(ctx, m.Body, OriginOf(m, c.Stream, d.Seq()))
	var faults events.Faults
	switch {
	case errors.As(err, &faults):
		c.Meter.CountRequest("rejected")
		c.reject(admission.JobID, faults)
		err = d.Refuse(faults)
	case err != nil:
		c.Meter.CountRequest("postponed")
		c.Logger.Warn("request is tried again", "job", admission.JobID, "error", err)
		err = d.Nak(min(time.Minute, time.Second<<min(d.Delivered()-1, 6)))
	case admission.ScheduleID != "" && !admission.Duplicate:
		c.Meter.CountRequest("scheduled")
		c.Logger.Info("schedule made", "schedule", admission.ScheduleID)
		err = d.Ack()
	case admission.Duplicate:
		c.Meter.CountRequest("duplicate")
		err = d.Ack()
	default:
		c.Meter.CountRequest("admitted")
		c.Logger.Info("job admitted", "job", admission.JobID, "seq", admission.Seq)
		err = d.Ack()
	}
	if err != nil {
		c.Logger.Warn("request was not settled and will come again", "job", admission.JobID, "error", err)
	}
}

// reject tells whoever listens what is wrong with a request: the queue has no way back to its sender.
func (c *Consumer) reject(job string, faults events.Faults) {
	c.Logger.Warn("request rejected", "job", job, "error", faults.Error())
	body, err := json.Marshal(events.Rejection{JobID: job, Faults: faults})
	if err == nil {
		err = c.Teller.PublishCore(c.Rejected, nil, body)
	}
	if err != nil {
		c.Logger.Warn("rejection was not announced", "job", job, "error", err)
	}
}
