package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// streams reports whether the client wants a stream.
func (c *call) streams() bool {
	return c.r.Method == http.MethodGet && strings.Contains(c.r.Header.Get("Accept"), "text/event-stream")
}

// resumed returns the id of the last event that the reader has seen, "" for a new reader.
func (c *call) resumed() string { return c.r.Header.Get("Last-Event-ID") }

// gap is the event which says that something is missing before the next one.
type gap struct {
	// After is the last sequence that the reader has seen, Text says what is missing.
	After uint64 `json:"after"`
	Text  string `json:"text"`
}

// follow runs a stream of events until the reader leaves, the token becomes invalid or the gateway drains. Errors are sent in the
// stream.
func (c *call) follow(run func(ctx context.Context, s *stream.Writer) error) error {
	return c.attend(func(ctx context.Context) error {
		c.sent = true
		s, err := stream.Open(c.w, c.gateway.Write)
		if err != nil {
			return err
		}
		err = run(ctx, s)
		if err == nil || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return err // The reader is gone, or has reconnected elsewhere.
		}
		fault, _, _ := faultOf(err)
		if text, other := json.Marshal(fault); other == nil {
			_ = s.Send("", "fault", text) // The reader may be what failed.
		}
		return err
	})
}

// attend runs something that lasts as long as its reader stays: within the limit of such requests, and until the gateway drains.
func (c *call) attend(run func(ctx context.Context) error) error {
	g := c.gateway
	if !g.streams.Take(c.who.User) {
		return tooManyStreams(g.Streams)
	}
	defer g.streams.Give(c.who.User)
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	defer context.AfterFunc(g.end, cancel)()
	err := run(ctx)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		g.Log.Info("reader of a stream took nothing and was dropped", "user", c.who.Name(), "verb", c.verb.Name, "remote", c.r.RemoteAddr, "after", g.Write)
		return nil
	case c.sent && ctx.Err() != nil:
		return nil
	}
	return err
}

func tooManyStreams(limit int) *events.Fault {
	return &events.Fault{Code: events.CodeTooMany, Message: fmt.Sprintf("too many streams are open: %d are served, the last ones to users who have few", limit), Hint: "close some, raise --streams (JOBGRAPH_STREAMS), or start another gateway"}
}

// errRevoked ends a stream whose user no longer has a valid token.
var errRevoked = &events.Fault{Code: events.CodeUnauthenticated, Message: "the token was revoked, has expired or has other roles now", Hint: "connect again with a valid token"}

// checked returns an error if the token of a stream is no longer valid.
func (c *call) checked() error {
	if c.gateway.Guard.Keeper.Valid(c.who) {
		return nil
	}
	return errRevoked
}

// eventsOf sends the events of a job: a page, or a stream that continues.
func eventsOf(c *call) error {
	var in verb.EventQuery
	if err := c.into(&in); err != nil {
		return err
	}
	if in.Until != "" && in.Until != "end" {
		return &events.Fault{Code: events.CodeInvalid, Field: "until", Message: "unknown value " + clip(in.Until), Hint: "use end, or leave it out"}
	}
	if !c.streams() {
		return eventPage(c, &in)
	}
	if id := c.resumed(); id != "" {
		seq, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			return &events.Fault{Code: events.CodeInvalid, Field: "Last-Event-ID", Message: clip(id) + " is not the id of an event", Hint: "an id is a sequence of the log"}
		}
		in.After = seq
	}
	ctx, cl := c.r.Context(), c.gateway.Client
	head, err := cl.Head(ctx, in.ID)
	if err != nil {
		return err
	}
	ended := in.Until == "end" && in.After <= head && over(ctx, cl, in.ID, in.After)
	if ended && in.After == head {
		c.sent = true
		c.w.WriteHeader(http.StatusNoContent) // Then a browser does not reconnect.
		return nil
	}
	r, err := c.gateway.feeds.Open(ctx, in.ID)
	if err != nil {
		return err
	}
	defer r.Close()
	return c.follow(func(ctx context.Context, s *stream.Writer) error { return c.sendEvents(ctx, s, r, &in, head, ended) })
}

// over reports whether the last change of a job's status is an end that a reader has seen who has the log up to a sequence.
func over(ctx context.Context, cl *client.Client, job string, seen uint64) bool {
	last, err := cl.Bus().Log().LastOf(ctx, job, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped, events.KindJobRecovered)
	_, ended := client.Ended(last)
	return err == nil && ended && last.Seq <= seen
}

// eventPage sends events up to now.
func eventPage(c *call, in *verb.EventQuery) error {
	const most = 1000
	if in.Limit <= 0 || in.Limit > most {
		in.Limit = most
	}
	page := verb.EventPage{Events: []verb.Event{}}
	for e, err := range c.gateway.Client.Events(c.r.Context(), in.ID, in.After) {
		if err != nil {
			return err
		}
		if len(page.Events) == in.Limit {
			page.More = true
			break
		}
		page.Events = append(page.Events, verb.EventOf(&e))
	}
	return c.reply(page)
}

// sendEvents sends events until the job has ended, if the client asked for that, or until the stream ends. What was written after the
// end of a job, which a reader who resumes has seen, is still sent.
func (c *call) sendEvents(ctx context.Context, s *stream.Writer, r *stream.Reader, in *verb.EventQuery, head uint64, ended bool) error {
	if in.After > head {
		text, err := json.Marshal(gap{After: in.After, Text: fmt.Sprintf("the log of this job ends at %d: it was deleted and made again; this is all of it", head)})
		if err != nil {
			return err
		}
		s.Add("", "gap", text)
		in.After = 0
	}
	send := func(f stream.Frame) error {
		if err := c.checked(); err != nil {
			return err
		}
		s.Add(strconv.FormatUint(f.Seq, 10), string(f.Kind), f.Text)
		switch f.Kind {
		case events.KindJobFinished, events.KindJobFailed, events.KindJobStopped:
			ended = true
		case events.KindJobRecovered:
			ended = false
		}
		if s.Full() {
			return s.Flush()
		}
		return nil
	}
	idle := func(quiet bool) error {
		if err := c.checked(); err != nil {
			return err
		}
		if ended && in.Until == "end" {
			s.Add("", "end", []byte("{}"))
			return errEnd
		}
		if quiet {
			return s.Beat()
		}
		return s.Flush()
	}
	err := r.Send(ctx, in.After, c.gateway.Beat, send, idle)
	if errors.Is(err, errEnd) {
		return s.Flush()
	}
	return err
}

// errEnd says that a stream is complete.
var errEnd = errors.New("the stream is complete")

// live sends live items: those that are stored, or a stream until the job has ended. The id of an item is the sequence of its
// message and its number in that message, since a message may hold several. Notices of gaps have no id.
func live(c *call) error {
	var in verb.LiveQuery
	if err := c.into(&in); err != nil {
		return err
	}
	if !c.streams() {
		return liveItems(c, &in)
	}
	var skip uint64
	if id := c.resumed(); id != "" {
		seq, n, _ := strings.Cut(id, ".")
		var err, other error
		if in.From, err = strconv.ParseUint(seq, 10, 64); err == nil && n != "" {
			skip, other = strconv.ParseUint(n, 10, 32)
		}
		if err != nil || other != nil {
			return &events.Fault{Code: events.CodeInvalid, Field: "Last-Event-ID", Message: clip(id) + " is not the id of an item", Hint: "an id is SEQUENCE.NUMBER"}
		}
	}
	if _, err := c.gateway.Client.Head(c.r.Context(), in.ID); err != nil {
		return err
	}
	return c.follow(func(ctx context.Context, s *stream.Writer) error { return c.sendItems(ctx, s, &in, skip) })
}

// liveItems sends the items that are stored now.
func liveItems(c *call, in *verb.LiveQuery) error {
	if _, err := c.gateway.Client.Head(c.r.Context(), in.ID); err != nil {
		return err
	}
	out := verb.LiveItems{Items: []verb.LiveItem{}}
	after := max(in.From, 1) - 1
	for m, err := range c.gateway.Client.Logs().Items(c.r.Context(), in.ID, in.SubJob, after) {
		if err != nil {
			return err
		}
		for _, i := range m.Items {
			i.Job, i.SubJob = m.Job, m.SubJob
			out.Items = append(out.Items, verb.LiveItem{Seq: m.Seq, Item: i})
		}
	}
	return c.reply(out)
}

// sendItems sends live items until the job has ended.
func (c *call) sendItems(ctx context.Context, s *stream.Writer, in *verb.LiveQuery, skip uint64) error {
	n := numbering{seq: in.From, skip: skip}
	err := relay(ctx, c, s, func(ctx context.Context) iter.Seq2[client.LiveItem, error] {
		return c.gateway.Client.Live(ctx, in.ID, client.LiveOptions{SubJob: in.SubJob, From: in.From})
	}, func(i *client.LiveItem) error { return n.send(s, i) })
	if err != nil {
		return err
	}
	return s.Send("", "end", []byte("{}"))
}

// relay sends the elements of a sequence as they come, and a sign of life if none comes for a while. It returns nil at the end of
// the sequence, or the first error: of the sequence, of the stream, or because the caller has lost its rights.
func relay[T any](ctx context.Context, c *call, s *stream.Writer, all func(context.Context) iter.Seq2[T, error], send func(*T) error) error {
	type next struct {
		element T
		err     error
	}
	elements := make(chan next)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // Ends with the sequence or with ctx.
		defer close(elements)
		for e, err := range all(ctx) {
			select {
			case elements <- next{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	beat := time.NewTicker(c.gateway.Beat)
	defer beat.Stop()
	for {
		select {
		case e, more := <-elements:
			if !more {
				return nil
			}
			if err := cmp.Or(e.err, c.checked()); err != nil {
				return err
			}
			if err := send(&e.element); err != nil {
				return err
			}
		case <-beat.C:
			if err := c.checked(); err != nil {
				return err
			}
			if err := s.Beat(); err != nil {
				return err
			}
		}
	}
}

// numbering counts the items of each message.
type numbering struct {
	seq, n uint64
	skip   uint64 // How many items of the first message the reader has seen.
}

// send sends an item that the reader has not seen.
func (n *numbering) send(s *stream.Writer, i *client.LiveItem) error {
	id := ""
	if i.Seq > 0 && i.Type != item.Gap { // Whether something is missing depends on what the reader has seen.
		if i.Seq != n.seq {
			n.seq, n.n, n.skip = i.Seq, 0, 0
		}
		if n.n++; n.n <= n.skip {
			return nil
		}
		id = fmt.Sprintf("%d.%d", i.Seq, n.n)
	}
	text, err := json.Marshal(verb.LiveItem{Seq: i.Seq, Item: i.Item})
	if err != nil {
		return err
	}
	return s.Send(id, string(i.Type), text)
}

// conversation sends what was said in a session: a page, or a stream that continues.
func conversation(c *call) error {
	if !c.streams() {
		return forward(c)
	}
	var in verb.ConversationQuery
	if err := c.into(&in); err != nil {
		return err
	}
	var after uint64
	if in.After != nil {
		after = *in.After
	}
	if id := c.resumed(); id != "" {
		var err error
		if after, err = strconv.ParseUint(id, 10, 64); err != nil {
			return &events.Fault{Code: events.CodeInvalid, Field: "Last-Event-ID", Message: clip(id) + " is not the id of an item", Hint: "an id is a sequence"}
		}
	}
	if _, err := c.gateway.Client.Sessions().As(in.User).Get(c.r.Context(), in.ID); err != nil {
		return err
	}
	return c.follow(func(ctx context.Context, s *stream.Writer) error { return c.sendEntries(ctx, s, &in, after) })
}

// sendEntries sends what is said in a session, until the reader leaves.
func (c *call) sendEntries(ctx context.Context, s *stream.Writer, in *verb.ConversationQuery, after uint64) error {
	err := relay(ctx, c, s, func(ctx context.Context) iter.Seq2[item.Entry, error] {
		return c.gateway.Client.Conversation(in.ID, in.User).Follow(ctx, after)
	}, func(e *item.Entry) error {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return s.Send(strconv.FormatUint(e.Seq, 10), string(e.Type), text)
	})
	return cmp.Or(err, ctx.Err())
}
