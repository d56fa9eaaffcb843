package bus_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A refusal of one request says nothing about others with the same id.
func TestPayloadsUnderAnIdThatStandsForSomethingStay(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	n := b.Names()
	put := func(subject, body string, header ...string) {
		m := events.Message{Subject: subject, Body: []byte(body), Header: map[string][]string{}}
		if len(header) > 0 {
			m.Header[header[0]] = header[1:]
		}
		musttest.Get(b.Publish(t.Context(), m, bus.Expect{}))(t)
	}
	uses := map[string]func(id string){
		"event":    func(id string) { put(n.Event(id, events.KindJobStopped), `{}`) },
		"state":    func(id string) { musttest.Get(b.State().Put(t.Context(), id, []byte(`{}`), 0))(t) },
		"schedule": func(id string) { put(schedule.NewNames(n).Fact(id, schedule.Created, ""), `{}`) },
		"queued":   func(id string) { put(n.Request(), `{"id":"`+id+`"}`) },
		"wrapped":  func(id string) { put(n.Request(), `{"specversion":"1.0","id":"x","data":{"id":"`+id+`"}}`) },
		"aside":    func(id string) { put(n.Prefix()+".dlq.request.7", `{"id":"`+id+`"}`, "Jobgraph-Subject", n.Request()) },
		"nothing":  func(string) {},
	}
	ids := []string{"aside", "event", "nothing", "queued", "schedule", "state", "wrapped"}
	for _, id := range ids {
		musttest.Get(b.Blobs().Put(t.Context(), id, random(10)))(t)
	}
	musttest.Equal(t, ids, musttest.Get(b.Retention().Unused(t.Context(), ids))(t))
	for _, id := range ids {
		uses[id](id)
	}
	musttest.Equal(t, []string{"nothing"}, musttest.Get(b.Retention().Unused(t.Context(), ids))(t))
	for _, id := range ids {
		if id != "nothing" {
			wantErr(t, b.Retention().PurgeUnused(t.Context(), id), bus.ErrNotFound)
		}
	}
	noErr(t, b.Retention().PurgeUnused(t.Context(), "nothing"))
	wantErr(t, b.Retention().PurgeUnused(t.Context(), "nothing"), bus.ErrNotFound)
	wantErr(t, b.Retention().PurgeUnused(t.Context(), "*"), bus.ErrRefused)
	musttest.Equal(t, []string{"aside", "event", "queued", "schedule", "state", "wrapped"}, musttest.Get(b.Blobs().IDs(t.Context()))(t))
}

func TestWhatIsStoredUnderAnIdIsCounted(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	musttest.Equal(t, bus.Extent{}, musttest.Get(b.Blobs().Extent(t.Context(), "j1"))(t))
	for _, size := range []int{0, 10, 200 << 10} {
		musttest.Get(b.Blobs().Put(t.Context(), "j1", random(size)))(t)
	}
	j1 := musttest.Get(b.Blobs().Extent(t.Context(), "j1"))(t)
	stream := "OBJ_" + b.Names().Blobs
	first, last := musttest.Get(b.Streams().At(t.Context(), stream, 1))(t), musttest.Get(b.Streams().LastOn(t.Context(), stream, ">"))(t)
	if !j1.First.Equal(first.Time) || !j1.Last.Equal(last.Time) {
		t.Errorf("stored from %s to %s, told %+v", first.Time, last.Time, j1)
	}
	musttest.Get(b.Blobs().Put(t.Context(), "j2", nil))(t)
	musttest.Get(b.Documents().Put(t.Context(), bases.Base{Scope: bases.User, Name: "ann"}, events.Ref{Name: "d"}, strings.NewReader("text")))(t)
	// A part of a payload whose upload was cut off, and what other clients of object stores write.
	part := "$O." + b.Names().Blobs + ".C.j3." + strings.Repeat("a", 64) + ".x"
	musttest.Get(b.Publish(t.Context(), events.Message{Subject: part, Body: random(7)}, bus.Expect{}))(t)
	foreign := base64.URLEncoding.EncodeToString([]byte("picture"))
	folder := base64.URLEncoding.EncodeToString([]byte("folder/picture"))
	for _, subject := range []string{".C.foreign", ".C.foreign.too", ".M." + foreign, ".M." + folder, ".M.none"} {
		musttest.Get(b.Publish(t.Context(), events.Message{Subject: "$O." + b.Names().Blobs + subject, Body: []byte("{}")}, bus.Expect{}))(t)
	}
	musttest.Equal(t, []string{"j1", "j2", "j3"}, musttest.Get(b.Blobs().IDs(t.Context()))(t))
	for job, want := range map[string]bus.Extent{"j1": {Payloads: 3, Bytes: 10 + 200<<10}, "j2": {Payloads: 1}, "j3": {Payloads: 1, Bytes: 7}} {
		got := musttest.Get(b.Blobs().Extent(t.Context(), job))(t)
		if got.First.IsZero() {
			t.Errorf("%s: %+v", job, got)
		}
		want.First, want.Last = got.First, got.Last
		musttest.Equal(t, want, got)
	}
}
