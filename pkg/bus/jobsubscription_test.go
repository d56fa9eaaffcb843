package bus_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
)

func TestAJobIsFollowedAcrossARestartByAnyNumber(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{MaxConsumers: 8}) // Fewer than there are followers.
	b := server.Bus("test")
	for i := range 3 {
		put(t, b, fact(b, "j1", fmt.Sprint(i)))
		put(t, b, fact(b, "j2", fmt.Sprint(i)))
	}
	var logs []*bus.JobSubscription
	for range 12 {
		l, err := b.Log().FollowJob(t.Context(), "j1", 2)
		noErr(t, err)
		t.Cleanup(l.Stop)
		logs = append(logs, l)
	}
	want := func(seqs ...uint64) {
		t.Helper()
		for i, l := range logs {
			var got []uint64
			for len(got) < len(seqs) {
				list, err := l.Next(t.Context())
				noErr(t, err)
				for _, e := range list {
					got = append(got, e.Seq)
				}
			}
			if !slices.Equal(got, seqs) {
				t.Fatalf("follower %d got %v, want %v", i, got, seqs)
			}
		}
	}
	want(3, 5)
	back := make(chan struct{}, 1)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	server.Start()
	<-back
	put(t, b, fact(b, "j2", "new"))
	want(put(t, b, fact(b, "j1", "new")))
	_, err := b.Log().FollowJob(t.Context(), "*", 0)
	wantErr(t, err, bus.ErrRefused)
}
