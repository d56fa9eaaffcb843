package intake

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	talk "github.com/jobgraph/jobgraph/pkg/events/item"
)

// Meter counts requests by result: admitted, duplicate, rejected or postponed.
type Meter interface {
	CountRequest(result string)
	// Waiting gets the number of requests that are held back, and of active jobs.
	Waiting(held, inMotion int)
}

// Queue is where requests wait.
type Queue interface {
	// Next blocks for the first request and adds those that are available.
	Next(ctx context.Context, max int) ([]bus.Delivery, error)
	// Stop ends the reading: requests that are given back go to other readers.
	Stop()
}

// Teller sends messages that are not stored.
type Teller interface {
	PublishCore(subject string, header map[string][]string, body []byte) error
}

// Consumer admits queued requests.
type Consumer struct {
	// Admitter admits, Gate holds requests back while the log is full.
	Admitter *Admitter
	Gate     *Gate
	// Load is the work of the schedulers, of which Most jobs may be active at once; without it, or with 0, there is no limit.
	Load Load
	Most int
	// Queue and Teller are the bus's; Stream identifies the queue.
	Queue  Queue
	Teller Teller
	Stream string
	// Rejected is the subject that announces rejections, Answered the subject that announces requests that answered a question;
	// empty for none.
	Rejected, Answered string
	Meter              Meter
	Logger             *slog.Logger
}

// batchSize is how many requests are taken at once; bytesAtOnce is the total size of requests admitted concurrently, each of which
// is copied several times. A request counts as leastBytes at least.
const (
	batchSize   = 256
	bytesAtOnce = 1 << 20
	leastBytes  = bytesAtOnce / batchSize
)

// Run admits requests concurrently until ctx ends or the queue is closed. A request in progress is finished with work; others are
// given back.
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

// read passes requests on, until ctx ends or the queue is closed.
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

// take admits one request and settles its delivery. It returns the sequence of the published event, 0 for none. Errors do not stop
// the consumer.
func (c *Consumer) take(ctx context.Context, d *bus.Delivery) (stated uint64) {
	m := d.Message()
	var admission Admission
	who, asked, err := d.Signer()
	ctx, err = WithSender(ctx, who, asked, err)
	if err == nil {
		admission, err = c.Admitter.Admit(ctx, m.Body, OriginOf(m, c.Stream, d.Seq()))
	}
	var faults events.Faults
	switch {
	case errors.As(err, &faults):
		c.Meter.CountRequest("rejected")
		c.reject(admission.JobID, faults)
		err = d.Refuse(faults)
	case err != nil:
		c.Meter.CountRequest("postponed")
		c.Logger.Warn("retrying request", "job", admission.JobID, "error", err)
		err = d.Nak(min(time.Minute, time.Second<<min(d.Delivered()-1, 6)))
	case admission.ScheduleID != "" && !admission.Duplicate:
		c.Meter.CountRequest("scheduled")
		c.Logger.Info("schedule created", "schedule", admission.ScheduleID)
		err = d.Ack()
	case admission.Answered != "":
		c.Meter.CountRequest("answered")
		c.Logger.Info("message answers a question", "job", admission.JobID, "request", admission.Answered)
		c.announce(c.Answered, talk.Taken{Message: admission.Message, JobID: admission.JobID, Request: admission.Answered}, admission.JobID)
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
		c.Logger.Warn("cannot settle request; it will be redelivered", "job", admission.JobID, "error", err)
	}
	return stated
}

// reject publishes what is wrong with a request: the queue has no way back to its sender.
func (c *Consumer) reject(job string, faults events.Faults) {
	c.Logger.Warn("request rejected", "job", job, "error", faults.Error())
	c.announce(c.Rejected, events.Rejection{JobID: job, Faults: faults}, job)
}

// announce publishes the result of a queued request to listeners.
func (c *Consumer) announce(subject string, what any, job string) {
	body, err := json.Marshal(what)
	if err == nil {
		err = c.Teller.PublishCore(subject, nil, body)
	}
	if err != nil {
		c.Logger.Warn("cannot announce what became of a request", "job", job, "subject", subject, "error", err)
	}
}
