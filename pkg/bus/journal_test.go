package bus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
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

func TestRecordsOfOtherPoolsDoNotCount(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	all := b.Journal("j1", "a")
	add := func(j bus.Journal, number int, owner string) {
		t.Helper()
		_, last, err := j.Read(t.Context())
		noErr(t, err)
		_, err = j.Append(t.Context(), events.JournalRecord{Type: events.JournalClaimed, Run: number, Owner: owner}, last)
		noErr(t, err)
	}
	add(all.In("old"), 1, "once")
	add(all, 1, "engine")
	add(all.In("foe"), 2, "foe")
	add(all.In("old"), 2, "too late")
	add(all.In("new"), 2, "now")
	add(all, 9, "engine")
	for name, c := range map[string]struct {
		j    bus.Journal
		want []string
	}{
		"without a pool":      {all, []string{"engine", "engine"}},
		"of a pool alone":     {all.In("new"), []string{"now"}},
		"with the engine's":   {all.In("new").Beside(nil), []string{"engine", "now", "engine"}},
		"with a former pool":  {all.In("new").Beside([]events.Tenure{{Pool: "old", Run: 1}}), []string{"once", "engine", "now", "engine"}},
		"come back":           {all.In("old").Beside([]events.Tenure{{Pool: "old", Run: 1}, {Pool: "new", Run: 1}}), []string{"once", "engine", "too late", "engine"}},
		"twice in a pool":     {all.In("x").Beside([]events.Tenure{{Pool: "old", Run: 1}, {Pool: "y", Run: 1}, {Pool: "old", Run: 2}}), []string{"once", "engine", "too late", "engine"}},
		"whatever a pool is":  {all.In("new").Beside([]events.Tenure{{Pool: "*", Run: 5}, {Pool: ">", Run: 5}}), []string{"engine", "now", "engine"}},
		"without pool, later": {all.Beside([]events.Tenure{{Pool: "new", Run: 2}}), []string{"engine", "now", "engine"}},
	} {
		list, last, err := c.j.Read(t.Context())
		noErr(t, err)
		var owners []string
		own := uint64(0)
		for _, e := range list {
			owners = append(owners, e.Owner)
			if !e.Apart {
				own = e.Seq
			}
		}
		if diff := cmp.Diff(c.want, owners); diff != "" || own != last {
			t.Errorf("%s, up to %d of %d: %s", name, own, last, diff)
		}
	}
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
		_, err = b.Blobs().Put(t.Context(), job, random(10))
		noErr(t, err)
		_, err = b.Plans().Put(t.Context(), bus.BookKey(bus.AgentBook(job)), []byte("{}"), 0)
		noErr(t, err)
		for _, key := range []string{job, job + ".1"} {
			_, err = b.State().Put(t.Context(), key, []byte("{}"), 0)
			noErr(t, err)
		}
	}
	count := func() (n uint64) {
		facts, err := b.Streams().List(t.Context())
		noErr(t, err)
		for _, f := range facts {
			n += f.Messages
		}
		return n
	}
	fill("j1")
	one := count()
	fill("j2")
	noErr(t, b.Retention().PurgeJob(t.Context(), "j2"))
	noErr(t, b.Retention().PurgeJob(t.Context(), "j2"))
	fill("j3")
	reap := put(t, b, fact(b, "j3", "reap"))
	put(t, b, fact(b, "j3", "behind"))
	noErr(t, b.Retention().ReapJob(t.Context(), "j3", reap))
	if left := count(); left != one+2 {
		t.Fatalf("%d messages are left, want %d and the markers of two deleted states", left, one)
	}
	for _, job := range []string{"", "*", ">", "j1.>"} {
		wantErr(t, b.Retention().PurgeJob(t.Context(), job), bus.ErrRefused)
		wantErr(t, b.Retention().PurgeRest(t.Context(), job), bus.ErrRefused)
	}
}

func TestJournalsWithoutAJobGoAndThoseOfOneStay(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	for _, job := range []string{"cut", "other"} {
		put(t, b, events.Message{Subject: b.Names().JournalOf(job, "a"), Body: []byte("{}")})
	}
	left := func(job string) int {
		list, _, err := b.Journal(job, "a").Read(t.Context())
		noErr(t, err)
		return len(list)
	}
	noErr(t, b.Retention().PurgeJournals(t.Context(), "cut"))
	wantErr(t, b.Retention().PurgeJournals(t.Context(), "cut"), bus.ErrNotFound)
	put(t, b, events.Message{Subject: b.Names().Event("other", events.KindJobRequested), Body: []byte("{}")})
	wantErr(t, b.Retention().PurgeJournals(t.Context(), "other"), bus.ErrNotFound)
	if left("cut") != 0 || left("other") != 1 {
		t.Errorf("%d and %d records are left", left("cut"), left("other"))
	}
	wantErr(t, b.Retention().PurgeJournals(t.Context(), "*"), bus.ErrRefused)
}

func TestWhatIsLeftOfAJobGoesAndTheNextOneOfTheIdKeepsItsOwn(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	keys := func() []string {
		list, err := b.State().Keys(t.Context())
		noErr(t, err)
		return list
	}
	save := func() {
		for _, key := range []string{"j.0", "j"} {
			_, err := b.State().Put(t.Context(), key, []byte("{}"), 0)
			noErr(t, err)
		}
	}
	save()
	late := put(t, b, fact(b, "j", "late"))
	other := put(t, b, fact(b, "other", "a"))
	noErr(t, b.Retention().PurgeRest(t.Context(), "j"))
	_, err := b.Log().EventAt(t.Context(), late)
	wantErr(t, err, bus.ErrNotFound)
	if left := keys(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}

	late = put(t, b, fact(b, "j", "late"))
	next := put(t, b, events.Message{Subject: b.Names().Event("j", events.KindJobRequested), Body: []byte("{}")})
	save()
	noErr(t, b.Retention().PurgeRest(t.Context(), "j"))
	_, err = b.Log().EventAt(t.Context(), late)
	wantErr(t, err, bus.ErrNotFound)
	for _, seq := range []uint64{other, next} {
		_, err = b.Log().EventAt(t.Context(), seq)
		noErr(t, err)
	}
	musttest.Equal(t, []string{"j.0", "j"}, keys())
}
