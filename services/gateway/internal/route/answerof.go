package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
)

// answerOf is a job's answer to a message: its result, or its next question to the person.
type answerOf struct {
	// text is the answer; said is everything that was sent of it, which may begin with text that was written earlier.
	text, said string
	// request is the request for input if the answer is a question; "" if it is a result.
	request string
	spent   events.Spent
}

// unsuccessful is the error for a job that has ended without a result.
type unsuccessful struct{ *events.Fault }

// Unwrap returns the fault.
func (u *unsuccessful) Unwrap() error { return u.Fault }

// news is an event of a job, or one of its live items.
type news struct {
	event *events.Event
	item  *client.LiveItem
	err   error // If set, it ends the events.
}

// follow passes on what a job says to the person, until the job has ended or asks them something. It calls alive when nothing was
// said for a while. Errors: unsuccessful, those of say and alive, and those of the bus.
func (t *turn) follow(ctx context.Context, say func(openai.Delta) error, alive func() error) (*answerOf, error) {
	cl := t.call.gateway.Client
	head, err := cl.Head(ctx, t.job)
	if err != nil && !errors.Is(err, bus.ErrNotFound) { // Its request may still wait in the queue.
		return nil, err
	}
	watched, stop, err := cl.Quarantine().Watch(ctx, t.job)
	if err != nil {
		return nil, err
	}
	defer stop()
	reading, end := context.WithCancel(watched)
	from := make(chan news)
	listening := t.listen(reading, from)
	defer listening()
	defer end()
	beat := time.NewTicker(t.call.gateway.Beat)
	defer beat.Stop()
	script, read := &openai.Transcript{User: t.request.User, Answered: t.answered}, itemPosition{seq: max(t.live, 1) - 1}
	for {
		select {
		case n := <-from:
			if n.err != nil {
				return nil, cmp.Or(context.Cause(watched), n.err)
			}
			if err := t.call.checked(); err != nil {
				return nil, err
			}
			read.note(n.item)
			if err := take(script, n, say); err != nil {
				return nil, err
			}
			if n.event != nil && n.event.Seq >= head {
				if err := t.catchUp(ctx, script, &read, say); err != nil {
					return nil, err
				}
				if a, err := t.conclude(ctx, script, say); a != nil || err != nil {
					return a, err
				}
			}
		case <-watched.Done():
			return nil, context.Cause(watched)
		case <-beat.C:
			if err := errors.Join(t.call.checked(), alive()); err != nil {
				return nil, err
			}
		}
	}
}

// listen passes events and live items to a channel until ctx ends; wait blocks until no more can come.
func (t *turn) listen(ctx context.Context, to chan<- news) (wait func()) {
	pass := func(n news) bool {
		select {
		case to <- n:
			return true
		case <-ctx.Done():
			return false
		}
	}
	logged, shown := make(chan struct{}), make(chan struct{})
	go func() { // Ends with ctx or with the log.
		defer close(logged)
		for e, err := range t.call.gateway.Client.Watch(ctx, t.job, 0) {
			if !pass(news{event: &e, err: err}) {
				return
			}
		}
	}()
	go func() { // Ends with ctx or with the job.
		defer close(shown)
		for !t.show(ctx, pass) {
			select {
			case <-time.After(lookAgain):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-logged; <-shown }
}

// lookAgain is the time between two checks for a job whose request waits in the queue.
const lookAgain = 200 * time.Millisecond

// show passes on live items; false if the job is not in the log yet. Without live items the answer comes in one piece.
func (t *turn) show(ctx context.Context, pass func(news) bool) bool {
	for i, err := range t.call.gateway.Client.Live(ctx, t.job, client.LiveOptions{From: t.live}) {
		if errors.Is(err, bus.ErrNotFound) {
			return false
		}
		if err != nil {
			if ctx.Err() == nil {
				t.call.gateway.Log.Info("an answer goes on without live items", "job", t.job, "error", err)
			}
			return true
		}
		if !pass(news{item: &i}) {
			return true
		}
	}
	return true
}

// itemPosition is how far the stored live items of an answer have been read: up to a message, with some of its items.
type itemPosition struct {
	seq   uint64
	items map[string]bool
}

// note takes an item into account, and reports whether it is new. Items that are not stored are new.
func (h *itemPosition) note(i *client.LiveItem) bool {
	if i == nil || i.Seq == 0 {
		return true
	}
	key := fmt.Sprintf("%s/%d/%s/%s/%d/%t", i.SubJob, i.Run, i.Type, i.ID, i.Offset, i.Done)
	if i.Seq < h.seq || i.Seq == h.seq && h.items[key] {
		return false
	}
	if i.Seq > h.seq || h.items == nil {
		h.seq, h.items = i.Seq, map[string]bool{}
	}
	h.items[key] = true
	return true
}

// catchUp reads the live items that are stored and not yet read when the answer ends: the end of a quick job may arrive before what its
// steps showed. Errors: those of say.
func (t *turn) catchUp(ctx context.Context, script *openai.Transcript, read *itemPosition, say func(openai.Delta) error) error {
	if script.Ended() == nil && script.Question() == nil {
		return nil
	}
	after := read.seq
	if len(read.items) > 0 {
		after-- // The rest of the same message.
	}
	for m, err := range t.call.gateway.Client.Logs().Items(ctx, t.job, "", after) {
		if err != nil {
			t.call.gateway.Log.Info("an answer ends without its last live items", "job", t.job, "error", err)
			return nil
		}
		for _, i := range m.Items {
			i.Job, i.SubJob = m.Job, m.SubJob
			live := &client.LiveItem{Seq: m.Seq, Item: i}
			if !read.note(live) {
				continue
			}
			if err := take(script, news{item: live}, say); err != nil {
				return err
			}
		}
	}
	return nil
}

// take passes news to the transcript, and passes on what that adds to the answer.
func take(script *openai.Transcript, n news, say func(openai.Delta) error) error {
	var list []openai.Delta
	if n.item != nil {
		list = script.Item(&n.item.Item)
	} else {
		if err := script.Event(n.event); err != nil {
			return err
		}
		list = script.Early()
	}
	for _, d := range list {
		if err := say(d); err != nil {
			return err
		}
	}
	return nil
}

// conclude completes the answer if the job has ended or asks the person something.
func (t *turn) conclude(ctx context.Context, script *openai.Transcript, say func(openai.Delta) error) (*answerOf, error) {
	a := &answerOf{}
	q := script.Question()
	switch {
	case script.Ended() != nil:
		r, err := t.call.gateway.Client.Result(ctx, t.job)
		if err != nil {
			return nil, err
		}
		if r.Status != events.Finished {
			return nil, failed(t.job, r)
		}
		a.text = joblog.AnswerText(r.Value)
	case q != nil:
		if a.text, a.request = q.Text, q.Request; approves(q.Kind) && !mayApprove(t.call.who) {
			a.text += "\n\nThis takes someone with the role approver: POST /api/v1/jobs/" + q.Job + "/inputs/" + q.Request
		}
	default:
		return nil, nil
	}
	if rest := script.Finish(a.text); rest != "" {
		if err := say(openai.Delta{Content: rest}); err != nil {
			return nil, err
		}
	}
	a.said, a.spent = script.Said(), script.Spent()
	return a, nil
}

// failed returns the error for the end of a job without a result.
func failed(job string, r *client.Result) error {
	f := events.Fault{Code: events.CodeExecution, Message: "the job was " + string(r.Status)}
	if r.Error != nil {
		f = *r.Error
	}
	if f.Hint == "" {
		f.Hint = "GET /api/v1/jobs/" + job + "/why"
	}
	return &unsuccessful{&f}
}
