package loop

import (
	"strconv"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// watched shows a run to watchers. It opens the sink when there is something to show, so that a run that shows nothing costs
// nothing.
type watched struct {
	run *run

	mu         sync.Mutex // Guards the fields below.
	items      Items
	milestones int
	log        string
}

// sink returns the sink, or nil if there is none.
func (w *watched) sink() Items {
	w.mu.Lock()
	defer w.mu.Unlock()
	if open := w.run.loop.Live; w.items == nil && open != nil {
		w.items = open(w.run.Order)
	}
	return w.items
}

func (w *watched) show(i item.Item) {
	if s := w.sink(); s != nil {
		s.Show(i)
	}
}

// begin marks where this run continues an earlier one, or another runner's part of this one.
func (w *watched) begin(takeover bool) {
	r := w.run
	if !takeover && r.Run <= 1 && r.ResumeOf == 0 {
		return
	}
	s := w.sink()
	switch {
	case s == nil:
	case takeover:
		s.Seam(r.Run, true)
	case r.ResumeOf > 0:
		s.Seam(r.ResumeOf, true)
	default:
		s.Seam(r.Run-1, false)
	}
}

// progress shows a milestone.
func (w *watched) progress(p *events.SubJobProgressed) {
	w.mu.Lock()
	w.milestones++
	n := w.milestones
	w.mu.Unlock()
	w.show(item.Item{Type: item.Progress, ID: "progress/" + strconv.Itoa(n), Text: item.Milestone(p), Done: true})
}

// end ends the items of the run, if there are any. With done false they stay open, because another runner continues them.
func (w *watched) end(done bool) {
	w.mu.Lock()
	s := w.items
	w.mu.Unlock()
	if s != nil {
		s.End(done)
	}
}

// logged keeps the end of the log for the report.
func (w *watched) logged(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = text
}

func (w *watched) kept() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log
}
