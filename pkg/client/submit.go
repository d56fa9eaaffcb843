package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// admission is how long to wait for the admission or rejection of a queued request if no scheduler answers.
const admission = 300 * time.Millisecond

// NewID generates a job id: sortable by time, and unique without coordination.
func NewID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make job id: %w", err)
	}
	return id.String(), nil
}

// WithTimezone returns a context whose requests carry the time zone of the caller, an IANA name. It applies if neither the request
// nor its session nor its user has one.
func WithTimezone(ctx context.Context, zone string) context.Context { return bus.WithZone(ctx, zone) }

// Submit submits a job and returns its id, or the id of the job that continues if the request answers a question that is open in
// its session (Request.New prevents that). A missing id is generated before the first attempt, so that a repeat is the same job.
// Plan and inputs above the inline limit are stored as blobs first, and stay if the request is refused. If no scheduler answers, the request
// stays in the durable queue and is admitted later. Errors: events.Faults with everything that is wrong with the request, ErrConflict if
// another request has the id, and those of the bus.
func (c *Client) Submit(ctx context.Context, r events.Request) (string, error) {
	receipt, err := c.Ask(ctx, r)
	return receipt.JobID, err
}

// Receipt is what is known about an accepted request.
type Receipt struct {
	// JobID is the job's id.
	JobID string `json:"job_id"`
	// ScheduleID is the schedule that was created instead of a job, for a recurring request.
	ScheduleID string `json:"schedule_id,omitempty"`
	// Answered is the request for input that this request has answered, because it was open in the session: no job was created, and
	// JobID is the job that asked and now continues.
	Answered string `json:"answered,omitempty"`
	// Unanswered is a question that is open in the session and that this request, a separate job, does not answer.
	Unanswered *Unanswered `json:"unanswered,omitempty"`
	// Admitted is true if the job is in the log. Otherwise no scheduler has read the request yet: it waits in the durable
	// queue and may still be rejected.
	Admitted bool `json:"admitted"`
	// Waits is why a scheduler leaves the request in the queue for now, if one has said so: it admits no job while the log is full.
	Waits string `json:"waits,omitempty"`
}

// Unanswered is an open question that a request to its session does not answer, and why.
type Unanswered struct {
	JobID   string `json:"job_id"`
	Request string `json:"request"`
	Reason  string `json:"reason"`
}

// Ask is like Submit, but returns a Receipt.
func (c *Client) Ask(ctx context.Context, r events.Request) (Receipt, error) {
	return AskOr(ctx, c, r, nil)
}

// AskOr is like Ask. If no scheduler is there to read the request, alone may change it before it is queued, and its id if it has neither
// plan nor inputs, which are stored under the id; nil changes nothing.
func AskOr(ctx context.Context, c *Client, r events.Request, alone func(*events.Request) error) (Receipt, error) {
	if faults := r.Validate(); len(faults) > 0 {
		return Receipt{}, faults
	}
	if r.ID == "" {
		id, err := NewID()
		if err != nil {
			return Receipt{}, err
		}
		r.ID = id
	}
	receipt := Receipt{JobID: r.ID}
	if size := len(r.Goal) + len(r.Context); size > bus.MaxMessage { // Before anything is stored.
		return receipt, oversize(r, size)
	}
	if r.Schedule == nil { // A schedule must be part of the request: blobs belong to one job.
		if err := c.offload(ctx, &r); err != nil {
			return receipt, err
		}
	}
	body, err := events.Marshal(&r)
	if err != nil {
		return receipt, fmt.Errorf("submit: %w", err)
	}
	if len(body) > bus.MaxMessage {
		return receipt, oversize(r, len(body))
	}
	answer, fault, err := c.bus.Services().Request(ctx, c.Names().API("submit"), body)
	switch {
	case fault != nil && (fault.Code != events.CodeUnavailable || fault.Field == "disk"): // Otherwise the queue keeps it until there is room.
		return receipt, refusal(answer, fault)
	case fault != nil:
		receipt.Waits = cmp.Or(fault.Cause, fault.Message)
	case err == nil:
		receipt.Admitted = true
		return receipt, json.Unmarshal(answer, &struct {
			JobID      *string      `json:"job_id"`
			ScheduleID *string      `json:"schedule_id"`
			Answered   *string      `json:"answered"`
			Unanswered **Unanswered `json:"unanswered"`
		}{&receipt.JobID, &receipt.ScheduleID, &receipt.Answered, &receipt.Unanswered})
	case !errors.Is(err, bus.ErrUnavailable):
		return receipt, fmt.Errorf("submit: %w", err)
	case errors.Is(err, bus.ErrNobody) && alone != nil:
		if err := alone(&r); err != nil {
			return receipt, err
		}
		return c.Ask(ctx, r)
	}
	if there, err := c.taken(ctx, r.ID, body); there || err != nil {
		receipt.Admitted = there && err == nil
		return receipt, err
	}
	return receipt, c.enqueue(ctx, &receipt, body)
}

// taken reports whether the job of a request is already in the log. If that has another request, it returns ErrConflict,
// since no scheduler answers.
func (c *Client) taken(ctx context.Context, id string, body []byte) (bool, error) {
	for e, err := range c.bus.Log().EventsOf(ctx, id, 0) {
		if err != nil {
			return false, fmt.Errorf("submit: %w", err)
		}
		first, ok := e.Data.(*events.JobRequested)
		if !ok {
			continue
		}
		text, err := json.Marshal(first.Request)
		if err != nil {
			return true, fmt.Errorf("submit: %w", err)
		}
		if same(text, body) {
			return true, nil
		}
		return true, fmt.Errorf("%w: %w", ErrConflict, &events.Fault{
			Code: events.CodeConflict, Field: "id", Message: "job " + id + " exists with other content",
			Hint: "choose another id, leave it out, or `jobgraph get " + id + "`",
		})
	}
	return false, nil
}

// same compares two JSON texts by value.
func same(a, b []byte) bool {
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && reflect.DeepEqual(left, right)
}

// offload moves large parts of the request to blobs.
func (c *Client) offload(ctx context.Context, r *events.Request) error {
	if len(r.Plan) > bus.InlineLimit {
		ref, err := c.bus.Blobs().Put(ctx, r.ID, r.Plan)
		if err != nil {
			return fmt.Errorf("submit plan: %w", err)
		}
		r.Plan, r.PlanRef = nil, &ref
	}
	size := 0
	for _, v := range r.Inputs {
		size += len(v)
	}
	if size > bus.InlineLimit {
		text, err := json.Marshal(r.Inputs)
		if err != nil {
			return fmt.Errorf("submit inputs: %w", err)
		}
		ref, err := c.bus.Blobs().Put(ctx, r.ID, text)
		if err != nil {
			return fmt.Errorf("submit inputs: %w", err)
		}
		r.Inputs, r.InputsRef = nil, &ref
	}
	return nil
}

// oversize names the text that makes a request too large. Plan and inputs are already blobs.
func oversize(r events.Request, size int) events.Faults {
	field := "request"
	for _, text := range []struct{ name, value string }{{"goal", r.Goal}, {"context", r.Context}} {
		if len(text.value) > size/2 {
			field = text.name
		}
	}
	return events.Faults{{
		Code: events.CodeTooLarge, Field: field, Message: fmt.Sprintf("the request is too large: %d bytes, at most %d are taken", size, bus.MaxMessage),
		Hint: "give what is large as an input or in the plan, which travel by reference",
	}}
}

// refusal converts the answer to a rejected request to an error, with all faults if the answer lists them.
func refusal(answer []byte, fault *events.Fault) error {
	var rejection events.Rejection
	var err error = fault
	if json.Unmarshal(answer, &rejection) == nil && len(rejection.Faults) > 0 {
		err = rejection.Faults
		fault = &rejection.Faults[0]
	}
	switch fault.Code {
	case events.CodeConflict:
		return fmt.Errorf("%w: %w", ErrConflict, err)
	case events.CodeNotFound:
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case events.CodeUnavailable:
		return fmt.Errorf("%w: %w", bus.ErrUnavailable, err)
	case events.CodeNotPermitted:
		return fmt.Errorf("%w: %w", bus.ErrNotPermitted, err)
	}
	return err
}

// roomless adds advice to the error of a full bus; it returns other errors unchanged.
func roomless(err error) error {
	if !errors.Is(err, bus.ErrFull) {
		return err
	}
	return fmt.Errorf("%w: %w", bus.ErrFull, &events.Fault{
		Code: events.CodeUnavailable, Message: "the bus has no room for the request, which was not stored", Cause: err.Error(),
		Hint: "delete jobs, give the server more disk, or submit again later; `jobgraph doctor` shows what is full",
	})
}

// enqueue puts the request into the durable queue and waits briefly for the result; it is not admitted if no scheduler has read it
// yet.
func (c *Client) enqueue(ctx context.Context, receipt *Receipt, body []byte) error {
	id := receipt.JobID
	rejected := make(chan events.Rejection, 1)
	stop, err := c.bus.SubscribeCore(c.Names().Rejected(), func(_ string, text []byte) {
		var r events.Rejection
		if json.Unmarshal(text, &r) == nil && r.JobID == id {
			select {
			case rejected <- r:
			default:
			}
		}
	})
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	defer stop()
	answered := make(chan item.Taken, 1)
	deaf, err := c.bus.SubscribeCore(item.Answered(c.Names()), func(_ string, text []byte) {
		var taken item.Taken
		if json.Unmarshal(text, &taken) == nil && taken.Message == id {
			select {
			case answered <- taken:
			default:
			}
		}
	})
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	defer deaf()
	// The broker drops a repeat, but not another request with the same id, which the scheduler has to reject.
	word := fmt.Sprintf("%s/%x", id, sha256.Sum256(body))
	if _, err := c.bus.Publish(ctx, events.Message{Subject: c.Names().Request(), Body: body, Header: queued(ctx, word)}, bus.Expect{}); err != nil {
		return fmt.Errorf("submit: %w", roomless(err))
	}
	// The scheduler reads the queue, so its admission is visible only in the log.
	ctx, cancel := context.WithTimeout(ctx, admission)
	defer cancel()
	seen, ended := make(chan struct{}, 1), make(chan struct{})
	go func() { // Ends with ctx at the latest, and is waited for below.
		defer close(ended)
		if c.appears(ctx, id) == nil {
			seen <- struct{}{}
		}
	}()
	defer func() { <-ended }()
	defer cancel()
	select {
	case r := <-rejected:
		return refusal(nil, &r.Faults[0])
	case taken := <-answered:
		receipt.JobID, receipt.Answered, receipt.Admitted, receipt.Waits = taken.JobID, taken.Request, true, ""
	case <-seen:
		receipt.Admitted, receipt.Waits = true, ""
	case <-ctx.Done():
	}
	return nil
}

// queued returns the headers of a request in the queue.
func queued(ctx context.Context, id string) map[string][]string {
	header := bus.RequestHeader(ctx)
	header[events.HeaderMsgID] = []string{id}
	return header
}

// appears blocks until a job is in the log.
func (c *Client) appears(ctx context.Context, id string) error {
	news, err := c.bus.Log().Lifecycle().Listen(ctx, id)
	if err != nil {
		return err
	}
	defer news.Stop()
	if there, err := c.Logs().exists(ctx, id); err != nil || there {
		return err
	}
	_, err = news.Next(ctx)
	return err
}
