package api

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// The sender of a request that waits is found in every form that is admitted.
func TestARequestThatWaitsIsThatOfItsUser(t *testing.T) {
	ann := asker.With(t.Context(), &seal.Signer{Name: "ann's key", Users: []string{"ann"}})
	for body, want := range map[string]bool{
		`{"id":"j","goal":"g","user":"ann"}`: true,
		`{"id":"j","goal":"g"}`:              true,
		`{"specversion":"1.0","type":"t","id":"e","data":{"id":"j","goal":"g","user":"ann"}}`:   true,
		`{"specversion":"1.0","type":"t","user":"ann","data":{"id":"j","goal":"g","user":"b"}}`: false,
		`{"id":"j","goal":"g","user":"bob"}`:                                                    false,
	} {
		if got := in(ann, "ann", []byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
	if in(t.Context(), "ann", []byte(`{"specversion":"1.0","type":"t","data":{"goal":"g","user":"bob"}}`)) || !in(t.Context(), "ann", []byte(`{"specversion":"1.0","type":"t","data":{"goal":"g","user":"ann"}}`)) {
		t.Error("where no signature is required, the user of an envelope is not that of its request")
	}
}

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
