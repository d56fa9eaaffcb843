package client

import (
	"context"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Conversation reads what was said in a session: messages, questions and answers, plans, results and more, in order.
type Conversation struct {
	sessions Sessions
	id       string
}

// ConversationPage is part of a conversation: Items in order, and whether there are earlier ones.
type ConversationPage = bus.Page

// Conversation returns the access to what was said in a session. Sessions.As names the user of a session that belongs to one.
func (s Sessions) Conversation(id string) Conversation { return Conversation{s, id} }

// Conversation returns the access to what was said in a session of a user; user is empty if the session belongs to none.
func (c *Client) Conversation(session, user string) Conversation {
	return c.Sessions().As(user).Conversation(session)
}

// Page returns the last items before a sequence, oldest first; 0 means the newest, including recent items of running jobs that are
// not recorded yet and have no sequence. It needs no scheduler. Errors: ErrNotFound, bus.ErrNotPermitted, those of the bus.
func (c Conversation) Page(ctx context.Context, before uint64, most int) (ConversationPage, error) {
	s, err := c.sessions.Get(ctx, c.id)
	if err != nil {
		return ConversationPage{}, err
	}
	b := c.sessions.client.bus
	page, err := b.Conversations().Page(ctx, c.id, before, most)
	if err != nil || before > 0 {
		return page, err
	}
	var live []string
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.SubJob == "" && (!j.Status.Terminal() || j.Ending) && events.ValidToken(j.ID) {
			live = append(live, j.ID)
		}
	}
	page.Items, err = joblog.CatchUp(page.Items, page.Earlier, live, func(job string) iter.Seq2[events.Event, error] {
		return joblog.Resolved(b.Log().EventsOf(ctx, job, 0), b.Blobs().Of(ctx, job))
	})
	return page, err
}

// Items yields the items after a sequence, 0 for all, in order, up to now: a reader resumes after the Seq of the last item that it
// has seen. It ends with the first error, one of those of Page.
func (c Conversation) Items(ctx context.Context, after uint64) iter.Seq2[item.Entry, error] {
	return func(yield func(item.Entry, error) bool) {
		if _, err := c.sessions.Get(ctx, c.id); err != nil {
			yield(item.Entry{}, err)
			return
		}
		c.sessions.client.bus.Conversations().After(ctx, c.id, after)(yield)
	}
}

// Follow yields what Items yields, and then new items as they come, until the context ends.
func (c Conversation) Follow(ctx context.Context, after uint64) iter.Seq2[item.Entry, error] {
	return func(yield func(item.Entry, error) bool) {
		if _, err := c.sessions.Get(ctx, c.id); err != nil {
			yield(item.Entry{}, err)
			return
		}
		conversations := c.sessions.client.bus.Conversations()
		news, err := conversations.Follow(ctx, c.id, after)
		if err != nil {
			yield(item.Entry{}, err)
			return
		}
		defer news.Stop()
		for {
			batch, err := news.Next(ctx, followed)
			if err != nil {
				yield(item.Entry{}, err)
				return
			}
			for i := range batch {
				if e, ok := conversations.Item(&batch[i]); ok && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// followed is how many items are fetched from the bus at once.
const followed = 64
