package session

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Conversation reads the last items of a session before a sequence; 0 means the newest, including what its running jobs have said
// and what is not recorded yet. Errors: those of the bus.
func Conversation(ctx context.Context, from *bus.Bus, r *Record, before uint64, most int) (bus.Page, error) {
	page, err := from.Conversations().Page(ctx, r.ID, before, most)
	if err != nil || before > 0 {
		return page, err
	}
	page.Items, err = joblog.CatchUp(page.Items, page.Earlier, r.live(), func(job string) iter.Seq2[events.Event, error] {
		return joblog.Resolved(from.Log().EventsOf(ctx, job, 0), from.Blobs().Of(ctx, job))
	})
	return page, err
}

// live returns the jobs of the session that have not ended, or whose end is not recorded yet.
func (r *Record) live() (ids []string) {
	for i := range r.Jobs {
		if l := &r.Jobs[i]; l.SubJob == "" && (!l.Status.Terminal() || l.Ending) && events.ValidToken(l.ID) {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// historyItems is how many items of a conversation are read for the history of a job.
const historyItems = 200

// History returns what was said in the session of a request before it, as JSON; nil for the first request of a session. The request
// must have been entered. What deleted and expired jobs said is left out, as in the planner's history. Errors: those of the bus.
func (b *Store) History(ctx context.Context, r *events.Request) (json.RawMessage, error) {
	record, _, err := b.load(ctx, r.Session)
	if err != nil || b.bus == nil || record.Total <= 1 {
		return nil, err
	}
	record.leave(r.ID)
	page, err := Conversation(ctx, b.bus, record, 0, historyItems)
	if err != nil {
		return nil, err
	}
	items := item.History(joblog.Latest(page.Items))
	if items, err = b.existing(ctx, items); err != nil || len(items) == 0 {
		return nil, err
	}
	return json.Marshal(items)
}

// existing drops the items of jobs that the log no longer has. Items without a job stay.
func (b *Store) existing(ctx context.Context, items []item.Item) ([]item.Item, error) {
	exists := map[string]bool{"": true}
	for i := range items {
		job := items[i].Job
		if _, known := exists[job]; known || !events.ValidToken(job) {
			continue
		}
		requested, err := b.bus.Log().LastOf(ctx, job, events.KindJobRequested)
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		exists[job] = requested.Seq != 0
	}
	return slices.DeleteFunc(items, func(i item.Item) bool { return !exists[i.Job] }), nil
}
