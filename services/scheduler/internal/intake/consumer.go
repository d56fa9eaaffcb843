package intake

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Meter counts requests by what became of them: admitted, duplicate, rejected or postponed.
type Meter interface {
	CountRequest(result string)
	// Waiting is told how many requests are held until there is room for them, while so many jobs are in motion.
	Waiting(held, inMotion int)
}

// Queue is where requests wait.
type Queue interface {
	// Next blocks for the first request and adds what else is there.
	Next(ctx context.Context, max int) ([]bus.Delivery, error)
	// Stop ends the reading: what is given back goes to others.
	Stop()
}

// Teller sends messages that are not stored.
type Teller interface {
	PublishCore(subject string, header map[string][]string, body []byte) error
}

// Consumer admits queued requests.
type Consumer struct {
	// Admitter admits, Gate holds back while the log is full.
	Admitter *Admitter
	Gate     *Gate
	// Load is what the schedulers have to do, of which Most jobs may have news at once; without one, or with 0, that bounds nothing.
	Load Load
	Most int
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

// Run admits requests, many side by side, until ctx ends or the queue is closed. A request under way is finished with work; what was
// not begun is given back.
func (c *Consumer) Run(ctx, work context.Context) error {
	read := make(chan []bus.Delivery)
	reading, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	over := make(chan struct{})
	go func() { // Ends with its context, and is waited for below.
		defer close(over)
		failed <- c.read(reading, read)
	}()
	d := door{Consumer: c, settled: make(chan outcome, batchSize), asked: make(chan Motion, 1), measured: time.Now()}
	err := d.run(ctx, work, read, failed)
	stop()
	<-over
	d.close()
	return err
}

// read hands on what the queue has, until ctx ends or the queue is closed.
func (c *Consumer) read(ctx context.Context, out chan<- []bus.Delivery) error {
	for {
		list, err := c.Queue.Next(ctx, batchSize)
		if err != nil {
			return err
		}
		select {
		case out <- list:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take admits one request and settles its delivery. It gives the place of what was stated in the log, 0 for none. Nothing it meets is
// a reason to stop.
func (c *Consumer) take(ctx context.Context, d *bus.Delivery) (stated uint64) {
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
		stated = admission.Seq
		err = d.Ack()
	}
	if err != nil {
		c.Logger.Warn("request was not settled and will come again", "job", admission.JobID, "error", err)
	}
	return stated
}

// reject publishes what is wrong with a request: the queue has no way back to its sender.
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
