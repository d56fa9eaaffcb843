package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func seqs(t testing.TB, b *bus.Bus, job string, after uint64) (list []uint64) {
	t.Helper()
	for e, err := range b.Log().EventsOf(t.Context(), job, after) {
		noErr(t, err)
		if e.Job != job {
			t.Fatalf("event of job %s among those of %s", e.Job, job)
		}
		list = append(list, e.Seq)
	}
	return list
}

func TestEventsOfAJobComeInOrderBehindASequence(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	if got := seqs(t, b, "j1", 0); got != nil {
		t.Fatalf("an empty log gives %v", got)
	}
	var want []uint64
	for i := range 30 {
		seq := put(t, b, fact(b, "j1", fmt.Sprint(i)))
		put(t, b, fact(b, "j11", fmt.Sprint(i)))
		want = append(want, seq)
	}
	for _, after := range []int{0, 1, 15, 29, 30} {
		from := uint64(0)
		if after > 0 {
			from = want[after-1]
		}
		if diff := cmp.Diff(want[after:], append([]uint64{}, seqs(t, b, "j1", from)...)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestLongLogIsReadInSeveralBatches(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	var list []events.Message
	for i := range 5000 {
		list = append(list, fact(b, "j1", fmt.Sprint(i)))
	}
	for _, err := range b.PublishAll(t.Context(), list, bus.ExpectNone()) {
		noErr(t, err)
	}
	got := seqs(t, b, "j1", 0)
	for i, seq := range got {
		if seq != uint64(i+1) {
			t.Fatalf("place %d has sequence %d", i, seq)
		}
	}
	if len(got) != 5000 {
		t.Fatalf("%d events, want 5000", len(got))
	}
}

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	e := events.Event{
		Kind: events.KindSubJobReported, ID: "j1/a/1", Job: "j1", SubJob: "a", Run: 1, Source: "test",
		Trace: "00-1-1-00", Data: &events.SubJobReported{Outcome: events.Success, Output: []byte(`{"x":"ü"}`)},
	}
	m, err := events.Encode(b.Names(), e)
	noErr(t, err)
	e.Seq = put(t, b, m)
	at, err := b.Log().EventAt(t.Context(), e.Seq)
	noErr(t, err)
	e.Time = at.Time
	if diff := cmp.Diff(e, at); diff != "" {
		t.Fatal(diff)
	}
	for got, err := range b.Log().EventsOf(t.Context(), "j1", 0) {
		noErr(t, err)
		if diff := cmp.Diff(e, got); diff != "" {
			t.Fatal(diff)
		}
	}
	_, err = b.Log().EventAt(t.Context(), e.Seq+1)
	wantErr(t, err, bus.ErrNotFound)
	_, err = b.Log().EventAt(t.Context(), 0)
	wantErr(t, err, bus.ErrNotFound)
	for _, job := range []string{"", "*", ">", "a.b"} {
		for _, err := range b.Log().EventsOf(t.Context(), job, 0) {
			wantErr(t, err, bus.ErrRefused)
		}
	}
}

// proves F-weakness-issue-2468
// proves V-T20
// proves F-T11
func TestFollowGivesOldAndNewInOrderAcrossARestart(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	for i := range 10 {
		put(t, b, fact(b, "j1", fmt.Sprint(i)))
	}
	s, err := b.Log().Follow(t.Context(), b.Names().JobEvents("j1"), bus.FollowOptions{StartSeq: 4})
	noErr(t, err)
	defer s.Stop()
	list := takeUntil(ctx, t, s, 7)
	if list[0].Seq() != 4 || list[6].Pending() != 0 {
		t.Fatalf("starts at %d, %d pending at the end", list[0].Seq(), list[6].Pending())
	}
	noErr(t, list[0].Ack())
	back := make(chan struct{}, 1)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	server.Start()
	<-back
	put(t, b, fact(b, "j1", "new"))
	if d := takeUntil(ctx, t, s, 1)[0]; d.Seq() != 11 {
		t.Fatalf("sequence %d after the restart, want 11", d.Seq())
	}
}

func TestReplayAtOriginalSpeedKeepsThePauses(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		put(t, b, fact(b, "j1", "a"))
		<-time.After(5 * time.Minute)
		put(t, b, fact(b, "j1", "b"))
		s, err := b.Log().Follow(t.Context(), b.Names().JobEvents("j1"), bus.FollowOptions{OriginalSpeed: true})
		noErr(t, err)
		defer s.Stop()
		take(t, s, 1)
		start := time.Now()
		take(t, s, 1)
		if pause := time.Since(start); pause < 299*time.Second || pause > 301*time.Second {
			t.Fatalf("pause of %s, want 5 minutes", pause)
		}
	})
}
