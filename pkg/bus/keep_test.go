package bus_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// Here a write takes five seconds, because the server does not say that it is stored.
func TestAKeeperStopsWhenWhatItAcceptedIsAnswered(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Connect("test")
		n := b.Names()
		written := make(chan string, 2)
		deaf, err := b.SubscribeCore("$KV.>", func(subject string, _ []byte) { written <- subject })
		noErr(t, err)
		defer deaf()
		stop, err := b.Services().Keep()
		noErr(t, err)
		noErr(t, b.Flush(t.Context()))
		card, err := json.Marshal(events.Card{ID: "x", Name: "x", Kind: "command", Pool: "p"})
		noErr(t, err)
		body, err := json.Marshal(map[string]any{"op": "put", "value": card})
		noErr(t, err)
		start := time.Now()
		noErr(t, b.PublishCore(n.Card("p", "x"), nil, body))
		if got, want := <-written, "$KV."+n.Experts+".x"; got != want {
			t.Errorf("it writes %s, want %s", got, want)
		}
		<-time.After(time.Second)
		stop()
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("stopped after %s with a request under way", waited)
		}
		noErr(t, b.PublishCore(n.Card("p", "x"), nil, body))
		noErr(t, b.Flush(t.Context()))
		if len(written) > 0 {
			t.Error("it writes after its end")
		}
	})
}

func TestWorkIsPutBackWithoutASchedulerByOneWhoMayPublishIt(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	n := b.Names()
	m := &batch.Member{Subject: n.WorkFor("p", "x", "j", "a", 1), ID: "one", Work: []byte(`{}`)}
	noErr(t, b.Queues().PutBack("p", m)(t.Context()))
	got, err := b.Streams().LastOn(t.Context(), n.Work, n.AllWork())
	noErr(t, err)
	if got.Subject != m.Subject || got.Get(events.HeaderMsgID) != "one" {
		t.Errorf("%s with the id %q", got.Subject, got.Get(events.HeaderMsgID))
	}
}
