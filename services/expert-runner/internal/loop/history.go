package loop

import (
	"encoding/json"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// recall loads the session's history, as much of it as the expert should know. If it is gone or unreadable, the run goes on without
// it, since the work has everything that it needs. Errors: those of the bus.
func (r *run) recall() error {
	w, most := &r.Work, item.DefaultHistory
	if r.expert.History != nil {
		most = *r.expert.History
	}
	history, ref := w.History, w.HistoryRef
	w.History, w.HistoryRef = nil, nil
	if most <= 0 {
		return nil
	}
	if ref != nil {
		data, err := r.payloads.get(r.ctx, *ref)
		var fault *events.Fault
		if err != nil && !errors.As(err, &fault) {
			return err
		}
		history = data
	}
	items := item.Newest(item.Read(history), most)
	if len(items) == 0 {
		return nil
	}
	text, err := json.Marshal(items)
	if err == nil { // Always so: the items were decoded from JSON.
		w.History = text
	}
	return nil
}
