package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// LiveItem is an item with its position.
type LiveItem struct {
	// Seq is the sequence of its message in the stream of live items, which may hold several items. It is 0 for an item
	// that is not stored.
	Seq uint64 `json:"seq,omitempty"`
	item.Item
}

// LiveOptions select live items. The zero value selects all that are kept, and all new ones.
type LiveOptions struct {
	// SubJob selects the items of one SubJob; all if empty.
	SubJob string
	// From leaves out what came before this sequence. The Seq of the last item continues after an interruption; items of
	// the same message are repeated.
	From uint64
}

// Live yields the live items of a job in order: those that are kept, then new ones as they come, until the job has ended.
// Items are kept for a limited time; an item of the type item.Gap says where some are missing. What a third-party worker
// publishes on its live subject comes without a sequence and only while it happens. On a bus without the stream of live
// items, that holds for all of them. Many calls share one consumer. Errors: ErrNotFound for a job that does not exist,
// ErrNotAdmitted, the context's, and those of the bus.
func (c *Client) Live(ctx context.Context, job string, o LiveOptions) iter.Seq2[LiveItem, error] {
	return func(yield func(LiveItem, error) bool) {
		r := &liveReader{client: c, job: job, options: o, yield: yield, judge: newItemJudge(c, job), next: map[string]int{}, foreign: map[string]foreignRun{}}
		if err := r.run(ctx); err != nil && !r.stopped {
			yield(LiveItem{}, err)
		}
	}
}

// afterEnd is how long nothing must arrive after the end of a job before its items count as complete.
const afterEnd = 250 * time.Millisecond

// liveReader is one call of Live. It belongs to the goroutine of the caller.
type liveReader struct {
	client  *Client
	job     string
	options LiveOptions
	yield   func(LiveItem, error) bool
	judge   *itemJudge
	stopped bool // The caller wants no more.
	last    uint64
	// next is where the text of an open item continues, by SubJob, run and ID; -1 if anything is to be accepted.
	next map[string]int
	// foreign says which SubJobs third-party workers execute, as far as it is known.
	foreign map[string]foreignRun
}

// foreignRun says whether a third-party worker or one of our experts executes a run of a SubJob.
type foreignRun struct {
	run    int
	expert string
	yes    bool
}

func (r *liveReader) run(ctx context.Context) error {
	if _, err := r.client.Head(ctx, r.job); err != nil {
		return err
	}
	ended, after, err := r.client.lastEnd(ctx, r.job)
	if err != nil {
		return err
	}
	stored, err := r.start(ctx)
	if err != nil || r.stopped {
		return err
	}
	if ended != nil {
		return r.rest(ctx, stored)
	}
	return r.follow(ctx, stored, after)
}

// start checks the sequence to begin from, and reports whether items are stored.
func (r *liveReader) start(ctx context.Context) (stored bool, err error) {
	first, last, err := r.client.bus.Items().Bounds(ctx)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch from := r.options.From; {
	case from > last+1:
		r.options.From = 0
		r.gap(fmt.Sprintf("there is no sequence %d: the stream of live items was made again; this is all that is kept", from))
	case from > 0 && from < first:
		r.gap(fmt.Sprintf("items before sequence %d are no longer kept", first))
	}
	r.last = max(r.options.From, 1) - 1
	return true, nil
}

// rest yields the stored items that were not yielded yet.
func (r *liveReader) rest(ctx context.Context, stored bool) error {
	if !stored {
		return nil
	}
	for m, err := range r.judge.items(ctx, r.options.SubJob, r.last) {
		if err != nil {
			return err
		}
		if !r.message(&m) {
			break
		}
	}
	return nil
}

// follow yields items until the job ends.
func (r *liveReader) follow(ctx context.Context, stored bool, after uint64) error {
	inner, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup // The goroutines end with inner.
	defer readers.Wait()
	defer cancel()
	f := &liveFeed{messages: make(chan bus.ItemMessage), pieces: make(chan piece, 1024), failed: make(chan error, 2), ended: make(chan struct{})}
	stop, err := f.listen(r, stored)
	if err != nil {
		return err
	}
	defer stop()
	if stored {
		sub, err := r.client.bus.Items().Follow(ctx, r.job, r.options.SubJob, r.last+1)
		if err != nil {
			return err
		}
		defer sub.Stop()
		readers.Go(func() { f.read(inner, sub) })
	}
	readers.Go(func() {
		if _, err := r.client.endBehind(inner, r.job, after); err != nil {
			f.failed <- err
			return
		}
		close(f.ended)
	})
	return r.merge(ctx, f, stored)
}

// merge yields the items of a feed.
func (r *liveReader) merge(ctx context.Context, f *liveFeed, stored bool) error {
	ended := f.ended
	var quiet <-chan time.Time
	for !r.stopped {
		select {
		case m := <-f.messages:
			if err := r.judge.sift(ctx, &m); err != nil {
				return err
			}
			r.message(&m)
			if quiet != nil && len(m.Items) > 0 {
				quiet = time.After(afterEnd)
			}
		case p := <-f.pieces:
			if err := r.piece(ctx, p); err != nil {
				return err
			}
		case err := <-f.failed:
			return err
		case <-ended:
			ended, quiet = nil, time.After(afterEnd)
		case <-quiet:
			return r.rest(ctx, stored)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// message yields the items of a message; false when the caller wants no more.
func (r *liveReader) message(m *bus.ItemMessage) bool {
	for n := range m.Items {
		i := &m.Items[n]
		i.Job, i.SubJob = m.Job, m.SubJob
		if missing := r.missing(i); missing != "" && !r.give(m.Seq, item.Item{Type: item.Gap, ID: i.ID, At: i.At, Job: i.Job, SubJob: i.SubJob, Run: i.Run, Text: missing, Done: true}) {
			return false
		}
		if !r.give(m.Seq, *i) {
			return false
		}
	}
	r.last = max(r.last, m.Seq)
	return true
}

// missing says what is missing before an item; "" if nothing is.
func (r *liveReader) missing(i *item.Item) string {
	of := fmt.Sprintf("%s/%d/", i.SubJob, i.Run)
	if i.Type == item.Gap {
		for key := range r.next { // any order: each is set to the same value.
			if strings.HasPrefix(key, of) {
				r.next[key] = -1 // The gap has been reported.
			}
		}
		return ""
	}
	key := of + i.ID
	at, known := r.next[key]
	if i.Text != "" {
		r.next[key] = i.Offset + len(i.Text)
	}
	if i.Done {
		delete(r.next, key)
	}
	if i.Text == "" || i.Offset == 0 || at < 0 || !known && r.options.From > 0 || i.Offset <= at {
		return ""
	}
	return fmt.Sprintf("%d bytes of %s are missing here", i.Offset-at, i.ID)
}

func (r *liveReader) gap(text string) {
	r.give(0, item.Item{Type: item.Gap, ID: "gap/start", Job: r.job, SubJob: r.options.SubJob, Text: text, Done: true})
}

func (r *liveReader) give(seq uint64, i item.Item) bool {
	r.stopped = r.stopped || !r.yield(LiveItem{Seq: seq, Item: i}, nil)
	return !r.stopped
}

// piece yields what a third-party worker has published. Our own experts store the same text as items.
func (r *liveReader) piece(ctx context.Context, p piece) error {
	if p.items != nil {
		if err := r.judge.sift(ctx, p.items); err != nil {
			return err
		}
		r.message(p.items)
		return nil
	}
	by, known := r.foreign[p.subjob]
	if !known {
		if by, known = r.executes(ctx, p.subjob); known {
			r.foreign[p.subjob] = by
		}
	}
	if !by.yes {
		return nil
	}
	if p.pool != "" {
		run, ok, err := r.judge.current(ctx, p.subjob, p.pool)
		if err != nil || !ok {
			return err
		}
		by.run = run
	}
	i := item.OfPiece(p.body)
	i.At, i.Job, i.SubJob, i.Run, i.Expert = p.at, r.job, p.subjob, by.run, by.expert
	r.give(0, i)
	return nil
}

// executes finds out who executes a SubJob.
func (r *liveReader) executes(ctx context.Context, subjob string) (by foreignRun, known bool) {
	j, err := r.client.Get(ctx, r.job)
	if err != nil {
		return by, false
	}
	for i := range j.SubJobs {
		s := &j.SubJobs[i]
		if s.ID != subjob || s.Expert == "" || s.Run == 0 {
			continue
		}
		body, _, err := r.client.bus.Experts().Get(ctx, s.Expert)
		var card events.Card
		if err != nil || json.Unmarshal(body, &card) != nil {
			return by, false
		}
		return foreignRun{run: s.Run, expert: s.Expert, yes: card.Kind == "nats"}, true
	}
	return by, false
}

// liveFeed collects what the bus delivers for one reader.
type liveFeed struct {
	messages chan bus.ItemMessage
	pieces   chan piece // When it is full, pieces are lost: they are meant for readers that keep up.
	failed   chan error // It has room for one error of each goroutine.
	ended    chan struct{}
}

// piece is a message that is not stored.
type piece struct {
	subjob string
	pool   string // The pool in its subject, if there is one.
	body   []byte
	at     time.Time
	items  *bus.ItemMessage // Items of a bus without the stream; nil for a message on a live subject.
}

// read passes stored messages on until ctx ends.
func (f *liveFeed) read(ctx context.Context, sub *bus.ItemSubscription) {
	for {
		list, err := sub.Next(ctx)
		if err != nil {
			f.failed <- err
			return
		}
		for i := range list {
			select {
			case f.messages <- list[i]:
			case <-ctx.Done():
				return
			}
		}
	}
}

// listen subscribes to what is not stored.
func (f *liveFeed) listen(r *liveReader, stored bool) (stop func(), err error) {
	pass := func(p piece) {
		p.at = time.Now().UTC()
		select {
		case f.pieces <- p:
		default:
		}
	}
	items, one := r.client.bus.Items(), r.options.SubJob
	stopPieces, err := items.ListenPieces(r.job, one, func(subjob, pool string, body []byte) {
		pass(piece{subjob: subjob, pool: pool, body: body})
	})
	if err != nil || stored {
		return stopPieces, err
	}
	stopItems, err := items.Listen(r.job, one, func(m bus.ItemMessage) { pass(piece{items: &m}) })
	if err != nil {
		stopPieces()
		return nil, err
	}
	return func() { stopPieces(); stopItems() }, nil
}
