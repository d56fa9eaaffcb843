package route

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// writing is the format of an answer.
type writing struct {
	// whole returns the body of a complete answer.
	whole func(a *answerOf) any
	// begin, then piece for each part of the answer, then end write a stream. alive is called when nothing was said for a while,
	// fail in place of end.
	begin func(s *stream.Writer) error
	piece func(s *stream.Writer, d openai.Delta) error
	alive func(s *stream.Writer) error
	end   func(s *stream.Writer, a *answerOf) error
	fail  func(s *stream.Writer, fault *events.Fault) error
}

// answer sends the answer to the last message of a conversation: as a whole, or in pieces while it is written. A client that
// disconnects stops nothing.
func (t *turn) answer(in *verb.ChatRequest, out writing) error {
	talk, err := openai.Read(in)
	if err != nil {
		return err
	}
	models, err := t.call.models()
	if err != nil {
		return err
	}
	model, err := models.find(in.Model)
	if err != nil {
		return err
	}
	t.talk, t.created = talk, time.Now().Unix()
	return t.call.attend(func(ctx context.Context) error {
		if err := t.open(in, model); err != nil {
			return err
		}
		send := t.send
		if in.Stream {
			send = t.stream
		}
		err := send(ctx, out)
		var bad *unsuccessful
		t.settle(err == nil || errors.As(err, &bad))
		return err
	})
}

// send waits for the complete answer and sends it.
func (t *turn) send(ctx context.Context, out writing) error {
	to := http.NewResponseController(t.call.w)
	if err := to.SetReadDeadline(time.Time{}); err != nil { // An answer may take longer than a request may.
		return err
	}
	a, err := t.follow(ctx, func(openai.Delta) error { return nil }, func() error { return nil })
	if other := to.SetWriteDeadline(time.Now().Add(t.call.gateway.Write)); other != nil && err == nil {
		err = other
	}
	var bad *unsuccessful
	switch {
	case errors.As(err, &bad):
		t.call.sent = true
		t.call.w.Header().Set("X-Should-Retry", "false") // The same request would do the work again.
		refuseAs(t.call.w, t.call.r, http.StatusUnprocessableEntity, bad.Fault)
		return err
	case err != nil:
		return err
	}
	if err := t.remember(ctx, a.text, a.request != ""); err != nil {
		return err
	}
	return t.call.reply(out.whole(a))
}

// stream sends the answer in pieces. Errors after the first piece are sent in the stream.
func (t *turn) stream(ctx context.Context, out writing) error {
	t.call.sent = true
	s, err := stream.Plain(t.call.w, t.call.gateway.Write)
	if err != nil {
		return err
	}
	err = out.begin(s)
	var a *answerOf
	if err == nil {
		a, err = t.follow(ctx, func(d openai.Delta) error { return out.piece(s, d) }, func() error { return out.alive(s) })
	}
	if err == nil {
		err = t.remember(ctx, a.said, a.request != "")
	}
	if err == nil {
		return out.end(s, a)
	}
	if t.call.r.Context().Err() == nil {
		fault, _, _ := faultOf(err)
		_ = out.fail(s, fault) // The reader may be what failed.
	}
	return err
}

// origin names the job and session of an answer.
func (t *turn) origin(a *answerOf) *verb.ChatOrigin {
	return &verb.ChatOrigin{JobID: t.job, Session: t.request.Session, Request: a.request}
}
