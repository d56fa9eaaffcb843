package live

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// The limits of one run, in bytes unless they count something else. What exceeds them is left out, and a marker says so.
const (
	// maxPending is the text that waits for the bus, maxText the text of a whole run, maxData the data of one item.
	maxPending = 64 << 10
	maxText    = 4 << 20
	maxData    = 64 << 10
	// maxOpen is how many items may be open at once.
	maxOpen = 1000
	// maxSoon is how many messages per second may be sent before their time.
	maxSoon = 20
)

// coalesce is how long an addition to an item waits for further ones.
const coalesce = 50 * time.Millisecond

// Run is the sink of one run. It is safe for concurrent use; no method waits for the bus. The methods of a nil Run do
// nothing.
type Run struct {
	w           *Writer
	job, subjob string
	pool        string
	number      int
	expert      string

	mu      sync.Mutex // Guards everything below. Taken before the writer's lock.
	open    map[string]*entry
	made    int      // How many items were opened.
	dirty   []*entry // The entries with something to send, in the order in which they began to wait.
	pending int      // The text that waits.
	text    int      // All text so far.
	lost    int      // What was left out since the last marker; -1 if the amount is unknown.
	full    bool     // maxText is reached and the marker was sent.
	gaps    int      // The number of markers.
	seams   int
	window  time.Time // The start of the second in which soon counts.
	soon    int
	closed  bool

	hasty, waits bool // Whether the run is in the writer's soon list, and in its later list; guarded by the writer's lock.
}

// In has the subjects of the run's items name its pool. It must be called before anything is shown; an empty pool changes nothing.
func (r *Run) In(pool string) *Run {
	if r != nil {
		r.pool = pool
	}
	return r
}

// Show adds to an item. Its text continues the text of the item with the same ID; with an Offset of 0 the text starts again. Job,
// SubJob, Run and Expert need not be set.
func (r *Run) Show(i item.Item) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.show(&i)
	}
}

func (r *Run) show(i *item.Item) {
	e := r.entry(i.ID)
	if e == nil {
		r.lose(len(i.Text))
		return
	}
	if len(i.Data) > maxData {
		i.Truncated, i.Data = len(i.Data), nil
	}
	again := i.Text != "" && i.Offset == 0 && e.fed > 0
	if again {
		r.pending -= len(e.text)
		e.restart(r.w.stream())
	}
	e.merge(i)
	e.fed += len(i.Text)
	r.add(e, e.stream.Feed(i.Text))
	if i.Done {
		r.add(e, e.stream.Flush())
	}
	if !e.waits() {
		return // It may be the beginning of a secret.
	}
	r.mark(e)
	r.w.schedule(r, (!e.shown || again || i.Done && i.Text == "") && r.mayHurry())
}

// entry returns the open item with an ID, and opens it if necessary; nil if too many are open.
func (r *Run) entry(id string) *entry {
	e := r.open[id]
	if e != nil || len(r.open) >= maxOpen {
		return e
	}
	r.made++
	e = &entry{item: item.Item{ID: id}, number: r.made, stream: r.w.stream()}
	r.open[id] = e
	return e
}

// add appends text without secrets, as far as there is room.
func (r *Run) add(e *entry, text string) {
	if text == "" {
		return
	}
	r.text += len(text)
	over := r.text > maxText
	if !over && e.left == 0 && r.pending+len(text) <= maxPending && r.w.room(len(text)) {
		e.text = append(e.text, text...)
		r.pending += len(text)
		return
	}
	e.left += len(text)
	if over {
		e.item.Truncated += len(text)
	}
	if !r.full {
		r.lose(len(text))
	}
}

func (r *Run) lose(n int) {
	if r.lost >= 0 {
		r.lost += n
	}
}

func (r *Run) mark(e *entry) {
	if !e.dirty {
		e.dirty = true
		r.dirty = append(r.dirty, e)
	}
}

// mayHurry reports whether a message may be sent at once, and counts it.
func (r *Run) mayHurry() bool {
	if now := time.Now(); now.Sub(r.window) >= time.Second {
		r.window, r.soon = now, 0
	}
	r.soon++
	return r.soon <= maxSoon
}

// Seam says that the run continues where another run broke off, which may be the same run in another runner. With continues,
// finished items of that run stay valid; otherwise all are replaced.
func (r *Run) Seam(of int, continues bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("run %d ended; run %d takes its place", of, r.number)
	switch {
	case of == r.number:
		text = fmt.Sprintf("run %d broke off and goes on in another process", of)
	case continues:
		text = fmt.Sprintf("run %d ended; run %d goes on from there", of, r.number)
	}
	r.seams++
	r.show(&item.Item{
		Type: item.Seam, ID: fmt.Sprintf("seam/%d", r.seams), Text: text, Done: true, Seam: &item.Broken{Run: of, Continues: continues},
	})
}

// End ends the run. With done, nothing more will be added to its items; otherwise another run or process continues them. Waiting
// items are still sent.
func (r *Run) End(done bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	if done {
		left := make([]*entry, 0, len(r.open))
		for _, e := range r.open { // any order: sorted below.
			left = append(left, e)
		}
		slices.SortFunc(left, func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
		for _, e := range left {
			if !e.item.Done {
				e.item.Done = true
				e.news = true
				r.add(e, e.stream.Flush())
				r.mark(e)
			}
		}
	}
	if len(r.dirty) > 0 {
		r.w.schedule(r, true)
	}
}

// take returns the waiting items, nil for none.
func (r *Run) take() []item.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.dirty) == 0 && r.lost == 0 {
		return nil
	}
	list := make([]item.Item, 0, len(r.dirty)+1)
	for _, e := range r.dirty {
		i := e.take()
		i.Run, i.Expert = r.number, r.expert
		list = append(list, i)
		if e.item.Done {
			delete(r.open, e.item.ID)
		}
	}
	clear(r.dirty)
	r.dirty = r.dirty[:0]
	r.w.sent(r.pending)
	r.pending = 0
	for _, e := range r.open { // any order: only a sum is computed.
		r.pending += len(e.text)
	}
	r.w.room(r.pending)
	if r.lost != 0 {
		list = append(list, r.gap())
	}
	return list
}

// gap returns the marker for what was left out.
func (r *Run) gap() item.Item {
	r.gaps++
	i := item.Item{Type: item.Gap, ID: fmt.Sprintf("gap/%d", r.gaps), Run: r.number, Expert: r.expert, Done: true, Truncated: max(r.lost, 0)}
	switch {
	case r.text > maxText:
		i.Text, r.full = fmt.Sprintf("the run has written more than %d bytes; the rest of its text is left out", maxText), true
	case r.lost < 0:
		i.Text = "something may be missing here: the connection to the bus was lost"
	default:
		i.Text = fmt.Sprintf("%d bytes are missing here: they came faster than the bus took them", r.lost)
	}
	r.lost = 0
	return i
}

// missed notes that the latest items may be lost; the next ones will say so.
func (r *Run) missed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = -1
}
