package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// How long a wait takes by default and at most.
const waitUsual, waitMost = 50 * time.Second, time.Hour

// wait waits until a job has ended or asks for input.
func wait(c *call) error {
	var in verb.Waiting
	if err := c.into(&in); err != nil {
		return err
	}
	if err := c.linger(); err != nil {
		return err
	}
	out, err := c.gateway.Await(c.r.Context(), c.who, &in, nil, nil)
	if err != nil {
		return err
	}
	return c.reply(out)
}

// linger removes the server's time limits from a connection, since the answer may take long. A reader that disconnects ends the
// wait.
func (c *call) linger() error {
	to := http.NewResponseController(c.w)
	return errors.Join(to.SetReadDeadline(time.Time{}), to.SetWriteDeadline(time.Time{}))
}

// standing has the fields of a job's state that a wait needs.
type standing struct {
	Status   events.Status `json:"status"`
	Progress struct {
		Done  int `json:"done"`
		Total int `json:"total"`
	} `json:"progress"`
	Owed      bool              `json:"end_owed"` // The job has ended, but its end with the result is not in the log yet.
	Created   time.Time         `json:"created"`
	Changed   time.Time         `json:"changed"`
	Result    json.RawMessage   `json:"result"`
	ResultRef *events.Ref       `json:"result_ref"`
	Error     *events.Fault     `json:"error"`
	Inputs    []json.RawMessage `json:"inputs"`
}

// Await follows a job until it has ended, asks for input that is not named in but, or the timeout of in has passed, and returns its
// state. moved, if not nil, is called whenever that has changed, and as a sign of life. An identity that loses its rights ends the
// wait. Errors: faults, and those of the bus.
func (g *Gateway) Await(ctx context.Context, who identity.Identity, in *verb.Waiting, but []string, moved func(*verb.Waited)) (*verb.Waited, error) {
	if !g.streams.Take(who.User) {
		return nil, tooManyStreams(g.Streams)
	}
	defer g.streams.Give(who.User)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.end, cancel)()
	r, err := g.feeds.Open(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	head, err := g.Client.Head(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	w := &waiting{gateway: g, who: who, job: in.ID, but: but, moved: moved, fresh: true}
	span := min(in.Timeout.Std(), waitMost)
	if span == 0 {
		span = waitUsual
	}
	limited, stop := context.WithTimeout(ctx, span)
	defer stop()
	err = r.Send(limited, head, g.Beat, w.see, func(quiet bool) error { return w.look(ctx, quiet) })
	switch {
	case errors.Is(err, errEnd):
		return w.now, nil
	case limited.Err() != nil && ctx.Err() == nil: // The timeout has passed, perhaps in the middle of a read.
		return g.Standing(ctx, who, in.ID)
	case g.end.Err() != nil:
		return nil, &events.Fault{Code: events.CodeUnavailable, Message: "the gateway is ending", Cause: err.Error(), Hint: "wait again, here or at another gateway: the job goes on"}
	}
	return nil, err
}

// Hold does something that lasts until a person has answered, in one of the places for streams, until ctx or the gateway ends, or the
// identity loses its rights. Errors: those of do, and a fault if there is no place or are no rights.
func (g *Gateway) Hold(ctx context.Context, who identity.Identity, do func(context.Context) error) error {
	if !g.streams.Take(who.User) {
		return tooManyStreams(g.Streams)
	}
	defer g.streams.Give(who.User)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.end, cancel)()
	go g.revoke(ctx, who, cancel)
	err := do(ctx)
	if !g.Guard.Keeper.Valid(who) {
		return errRevoked
	}
	return err
}

// waiting is one wait. It belongs to one goroutine.
type waiting struct {
	gateway *Gateway
	who     identity.Identity
	job     string
	but     []string // Requests for input that were answered already.
	moved   func(*verb.Waited)
	fresh   bool // Something has happened since the last read.
	now     *verb.Waited
}

// see records that something has happened.
func (w *waiting) see(f stream.Frame) error {
	w.fresh = w.fresh || f.Kind != events.KindSubJobProgressed
	return nil
}

// look reads the job's state after something has happened. It returns errEnd if there is nothing left to wait for.
func (w *waiting) look(ctx context.Context, quiet bool) error {
	if !w.gateway.Guard.Keeper.Valid(w.who) {
		return errRevoked
	}
	if w.fresh {
		w.fresh = false
		now, err := w.gateway.Standing(ctx, w.who, w.job)
		if err != nil {
			return err
		}
		now.Inputs = slices.DeleteFunc(now.Inputs, func(q verb.Question) bool { return slices.Contains(w.but, q.Request) })
		quiet = quiet || w.now == nil || w.now.Status != now.Status || w.now.Done != now.Done || w.now.Total != now.Total
		w.now = now
	}
	if w.moved != nil && quiet {
		w.moved(w.now)
	}
	if now := w.now; now.Ended || len(now.Inputs) > 0 {
		return errEnd
	}
	return nil
}

// Standing returns the present state of a job. Errors: faults, and those of the bus.
func (g *Gateway) Standing(ctx context.Context, who identity.Identity, job string) (*verb.Waited, error) {
	text, err := g.Do(ctx, who, "get", verb.Ref{ID: job})
	if err != nil {
		return nil, err
	}
	var s standing
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the state of job %s: %w", job, err)
	}
	out := &verb.Waited{
		JobID: job, Status: s.Status, Ended: s.Status.Terminal() && !s.Owed, Done: s.Progress.Done, Total: s.Progress.Total, Created: s.Created, Changed: s.Changed,
		Result: s.Result, ResultRef: s.ResultRef, Error: s.Error,
	}
	if out.Ended || len(s.Inputs) == 0 {
		return out, nil
	}
	if text, err = g.Do(ctx, who, "inputs", verb.OpenInputs{ID: job}); err != nil {
		return nil, err
	}
	var open verb.Questions
	if err := json.Unmarshal(text, &open); err != nil {
		return nil, fmt.Errorf("read the inputs of job %s: %w", job, err)
	}
	for i := range open.Inputs {
		if open.Inputs[i].Kind != events.InputTimer {
			out.Inputs = append(out.Inputs, open.Inputs[i])
		}
	}
	return out, nil
}
