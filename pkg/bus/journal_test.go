package bus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestJournalAdmitsOneWriterAtATime(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	j := b.Journal("j1", "a")
	list, last, err := j.Read(t.Context())
	noErr(t, err)
	if len(list) != 0 || last != 0 {
		t.Fatalf("an empty journal gives %v, %d", list, last)
	}
	claim := events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "one"}
	last, err = j.Append(t.Context(), claim, 0)
	noErr(t, err)
	_, err = j.Append(t.Context(), events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "two"}, 0)
	wantErr(t, err, bus.ErrConflict)
	put(t, b, events.Message{Subject: b.Names().JournalOf("j1", "a"), Body: []byte("no record")})
	_, err = j.Append(t.Context(), claim, last)
	wantErr(t, err, bus.ErrConflict)
	put(t, b, events.Message{Subject: b.Names().JournalOf("j1", "ab"), Body: []byte("{}")})
	list, last, err = j.Read(t.Context())
	noErr(t, err)
	if last != 2 || len(list) != 2 || list[1].Malformed == "" || list[0].Time.IsZero() {
		t.Fatalf("journal is %+v up to %d", list, last)
	}
	if diff := cmp.Diff(claim, list[0].JournalRecord); diff != "" {
		t.Fatal(diff)
	}
	_, err = j.Append(t.Context(), events.JournalRecord{Type: events.JournalClosed, Run: 1}, last)
	noErr(t, err)
}

// proves F-weakness-d-run
// proves F-weakness-issue-598-run
func TestPurgedJobLeavesNothingAndOthersWhole(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	fill := func(job string) {
		put(t, b, fact(b, job, "a"))
		put(t, b, work(b, "default", job, 1))
		_, err := b.Journal(job, "a").Append(t.Context(), events.JournalRecord{Type: events.JournalClaimed, Run: 1}, 0)
		noErr(t, err)
		_, err = b.PutBlob(t.Context(), job, random(10))
		noErr(t, err)
		_, err = b.Plans().Put(t.Context(), bus.BookKey(bus.AgentBook(job)), []byte("{}"), 0)
		noErr(t, err)
		for _, key := range []string{job, job + ".1"} {
			_, err = b.State().Put(t.Context(), key, []byte("{}"), 0)
			noErr(t, err)
		}
	}
	count := func() (n uint64) {
		facts, err := b.Streams(t.Context())
		noErr(t, err)
		for _, f := range facts {
			n += f.Messages
		}
		return n
	}
	fill("j1")
	one := count()
	fill("j2")
	noErr(t, b.PurgeJob(t.Context(), "j2"))
	noErr(t, b.PurgeJob(t.Context(), "j2"))
	if left := count(); left != one+1 {
		t.Fatalf("%d messages are left, want %d and the marker of the deleted state", left, one)
	}
	for _, job := range []string{"", "*", ">", "j1.>"} {
		wantErr(t, b.PurgeJob(t.Context(), job), bus.ErrRefused)
	}
}
