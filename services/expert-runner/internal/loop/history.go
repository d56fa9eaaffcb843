package loop

import (
	"encoding/json"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
)

// recall loads what was said before in the session, as much of it as the expert should know. A history that is gone or cannot be
// read is none: the work has everything that it needs. The error is the bus's.
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
	if err == nil { // They were decoded from JSON.
		w.History = text
	}
	return nil
}
