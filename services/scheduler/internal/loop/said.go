package loop

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Said is an item for the conversation of a session.
type Said struct {
	// Session is the session, ID the id of the message: the same event gives the same ids.
	Session, ID string
	// Item is what was said.
	Item item.Item
}

// saidOf returns the items of an event that a state already contains. Jobs without a session have none. What a handed-off SubJob
// says belongs to its own session as well.
func saidOf(state *graph.Job, e *events.Event) []Said {
	if state.Session == "" {
		return nil
	}
	items, child, own := joblog.SaidIn(state, e)
	var list []Said
	for i := range items {
		list = append(list, Said{state.Session, fmt.Sprintf("%s/%d/%d", e.Job, e.Seq, i), items[i]})
	}
	for i := range own {
		list = append(list, Said{child, fmt.Sprintf("%s/%d/%d/own", e.Job, e.Seq, i), own[i]})
	}
	return list
}
