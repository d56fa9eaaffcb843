package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// A bus of an earlier release, or one whose operator has no room for the stream: services work, and those who listen get items as
// they are sent.
func TestABusWithoutTheStreamOfLiveItemsWorks(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	js := sdk(t, server)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"jobs.item.other.>"}, NoAck: true})
	noErr(t, err)
	b := server.Connect("test")
	noErr(t, b.Streams().Init(t.Context()))
	noErr(t, b.Streams().Check(t.Context()))
	var faults events.Faults
	if err := b.Streams().CheckOptional(t.Context()); !errors.As(err, &faults) || len(faults) != 1 || faults[0].Field != "JOBS_LIVE" {
		t.Errorf("what is missing: %v", err)
	}
	heard := make(chan bus.ItemMessage, 1)
	stop, err := b.Items().Listen("j1", "a", func(m bus.ItemMessage) { heard <- m })
	noErr(t, err)
	defer stop()
	_, err = b.Items().Confirm("j1", "a", "", []byte(`{"type":"text","id":"x","text":"hello"}`))
	noErr(t, err)
	if m := <-heard; m.SubJob != "a" || len(m.Items) != 1 || m.Items[0].Text != "hello" {
		t.Errorf("%+v", m)
	}
	stop()
	noErr(t, b.Flush(t.Context()))
	ack, err := b.Items().Confirm("j1", "a", "", []byte(`{"type":"text","id":"x","text":"hello"}`))
	noErr(t, err)
	if _, err := ack.Wait(t.Context()); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("acknowledged with %v", err)
	}
	for _, err := range b.Items().Of(t.Context(), "j1", "", 0) {
		if !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("read with %v", err)
		}
	}
	noErr(t, b.Retention().PurgeJob(t.Context(), "j1"))
	noErr(t, js.DeleteStream(t.Context(), "OTHER"))
	noErr(t, b.Streams().Init(t.Context()))
	noErr(t, b.Streams().CheckOptional(t.Context()))
	_, err = js.UpdateStream(t.Context(), jetstream.StreamConfig{Name: "JOBS_LIVE", Subjects: []string{"jobs.item.>"}, MaxMsgs: 10})
	noErr(t, err)
	noErr(t, b.Streams().Init(t.Context()))
}

// The items of a SubJob are on a subject without a pool and on those of pools. They come in the order of the stream, to a reader of one
// SubJob and to a reader of the whole job.
func TestItemsComeInTheOrderOfTheStream(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	var want []string
	for n, at := range []string{"a p", "a", "b p", "a", "a p", "a q", "b", "a p", "a p", "a"} {
		subjob, pool, _ := strings.Cut(at, " ")
		ack, err := b.Items().Confirm("j", subjob, pool, fmt.Appendf(nil, `{"type":"text","id":"%d","text":"x"}`, n))
		noErr(t, err)
		_, err = ack.Wait(t.Context())
		noErr(t, err)
		want = append(want, fmt.Sprintf("%d %s/%s", n, subjob, pool))
	}
	of := func(m bus.ItemMessage) string { return fmt.Sprintf("%s %s/%s", m.Items[0].ID, m.SubJob, m.Pool) }
	for _, subjob := range []string{"", "a", "b"} {
		var mine []string
		for _, line := range want {
			if strings.Contains(line, " "+subjob) {
				mine = append(mine, line)
			}
		}
		for most := range len(mine) + 1 {
			var got []string
			for m, err := range b.Items().Of(t.Context(), "j", subjob, 0) {
				if noErr(t, err); len(got) == most {
					break
				}
				got = append(got, of(m))
			}
			if diff := cmp.Diff(mine[:most], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("SubJob %q: %s", subjob, diff)
			}
		}
		sub, err := b.Items().Follow(t.Context(), "j", subjob, 0)
		noErr(t, err)
		defer sub.Stop()
		var got []string
		for len(got) < len(mine) {
			list, err := sub.Next(t.Context())
			noErr(t, err)
			for _, m := range list {
				got = append(got, of(m))
			}
		}
		if diff := cmp.Diff(mine, got); diff != "" {
			t.Errorf("SubJob %q as it comes: %s", subjob, diff)
		}
	}
}

// The stream of live items reserves its size. Where the server has no room for it, that and what makes room is said.
func TestAStreamForWhichThereIsNoRoomSaysWhatMakesRoom(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{MaxStore: 64 << 20}).Connect("test")
	noErr(t, b.Streams().Init(t.Context()))
	var faults events.Faults
	if err := b.Streams().InitOptional(t.Context()); !errors.As(err, &faults) || len(faults) != 1 {
		t.Fatalf("%v", err)
	}
	f := faults[0]
	if f.Field != "JOBS_LIVE" || f.Message != "the server has no room for the stream, for which it reserves 256 MiB" || !strings.Contains(f.Hint, "raise its max_file_store, then run `jobgraph init`") {
		t.Errorf("%+v", f)
	}
	if err := b.Streams().CheckOptional(t.Context()); !errors.As(err, &faults) || !strings.Contains(faults[0].Hint, "256 MiB of the server's store") {
		t.Errorf("%v", err)
	}
	roomy := bustest.Start(t, bustest.Settings{}).Connect("test")
	noErr(t, roomy.Streams().InitOptional(t.Context()))
	noErr(t, roomy.Streams().CheckOptional(t.Context()))
}
