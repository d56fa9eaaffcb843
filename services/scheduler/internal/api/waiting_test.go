package api

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Many who stop what is not in the log do not all read the queue at once, which would leave the scheduler no time for its work. An empty
// queue is not searched.
func TestFewSearchTheQueueAtOnce(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("scheduler")
	v := New(b, nil, nil, nil, slog.New(slog.DiscardHandler))
	for range searches {
		v.searching <- struct{}{}
	}
	if there, err := v.admitted(t.Context(), "none", nil); there || err != nil {
		t.Errorf("in an empty queue: %v %v", there, err)
	}
	request := events.Message{Subject: b.Names().Request(), Body: []byte(`{"goal":"g"}`)}
	musttest.Get(b.Publish(t.Context(), request, bus.Expect{}))(t)
	var busy *events.Fault
	if _, err := v.admitted(t.Context(), "none", nil); !errors.As(err, &busy) || busy.Code != events.CodeUnavailable {
		t.Errorf("while others search: %v", err)
	}
	<-v.searching
	for range 2 { // The first search has given its place back.
		if there, err := v.admitted(t.Context(), "none", nil); there || err != nil {
			t.Errorf("with a place: %v %v", there, err)
		}
	}
}
