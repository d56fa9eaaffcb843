package bus_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

// The ids by which remote agents know a session are one entry, in which each agent has its own.
func TestTheIDOfASessionIsWrittenOnceAndRemovedAlone(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	kept := func(want string) uint64 {
		t.Helper()
		value, revision, err := b.Sessions().GetLeader(t.Context(), bus.ContextKey("s"))
		noErr(t, err)
		if string(value) != want {
			t.Errorf("%s is kept, want %s", value, want)
		}
		return revision
	}
	noErr(t, b.SetRemoteContext(t.Context(), "s", "x", "1"))
	noErr(t, b.SetRemoteContext(t.Context(), "s", "y", "2"))
	before := kept(`{"x":"1","y":"2"}`)
	noErr(t, b.SetRemoteContext(t.Context(), "s", "y", "2"))
	if after := kept(`{"x":"1","y":"2"}`); after != before {
		t.Error("an id that is known is written again")
	}
	noErr(t, b.SetRemoteContext(t.Context(), "s", "x", ""))
	kept(`{"y":"2"}`)
	for expert, want := range map[string]string{"x": "", "y": "2", "z": ""} {
		if id, err := b.RemoteContext(t.Context(), "s", expert); id != want || err != nil {
			t.Errorf("%s knows it by %q, %v", expert, id, err)
		}
	}
}

func TestAgentsThatLearnASessionAtOnceAllKnowIt(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := b.SetRemoteContext(t.Context(), "s", strconv.Itoa(i), "id"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 16 {
		if id, err := b.RemoteContext(t.Context(), "s", strconv.Itoa(i)); id != "id" || err != nil {
			t.Errorf("%d knows it by %q, %v", i, id, err)
		}
	}
}
