package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestASurveyFindsWhatTheLogLacksAndWhatIsLeftAlone(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	ask := func(job string) uint64 {
		t.Helper()
		m, err := events.Encode(b.Names(), events.Event{
			Kind: events.KindJobRequested, ID: job, Job: job, Source: "test", Data: &events.JobRequested{Request: events.Request{ID: job, Goal: "g"}},
		})
		noErr(t, err)
		seq, err := b.Publish(t.Context(), m, bus.Expect{})
		noErr(t, err)
		return seq
	}
	save := func(job, status string, seq uint64, more string) {
		t.Helper()
		text := fmt.Sprintf(`{"store":{"stream":"s"}%s,"fold":1,"id":%q,"status":%q,"seq":%d,"request_seq":1,"subjobs":[{"id":"~plan"}]}`, more, job, status, seq)
		_, err := b.State().Put(t.Context(), job, []byte(text), 0)
		noErr(t, err)
	}
	survey := func() *bus.Survey {
		t.Helper()
		s, err := b.Streams().Survey(t.Context())
		noErr(t, err)
		return s
	}
	if s := survey(); s.States != 0 || len(s.Lost)+len(s.Quarantined) != 0 || s.Text() != "" {
		t.Errorf("of nothing: %+v", s)
	}
	save("going", "RUNNING", ask("going"), "")
	save("ended", "FINISHED", 1, "") // The remains of an interrupted deletion are not a loss.
	save("beheaded", "RUNNING", 1, "")
	save("early", "FINISHED", 700, "")
	save("aside", "RUNNING", 1, `,"quarantined":{"code":"internal","message":", \"subjobs\":["}`)
	for key, text := range map[string]string{"going.0": "a part", "stranger": `{"id":"stranger","status":"RUNNING"}`, "torn": `{"store":`} {
		_, err := b.State().Put(t.Context(), key, []byte(text), 0)
		noErr(t, err)
	}
	s := survey()
	want := []bus.LostJob{
		{Job: "beheaded", Seq: 1, Why: "the log does not have its request, event 1 by its saved state"},
		{Job: "early", Seq: 700, Why: "the log ends at sequence 1, its saved state has seen 700"},
	}
	if diff := cmp.Diff(want, s.Lost); diff != "" || s.States != 5 {
		t.Errorf("of %d states (-want +got):\n%s", s.States, diff)
	}
	if diff := cmp.Diff([]string{"aside"}, s.Quarantined); diff != "" {
		t.Errorf("quarantined (-want +got):\n%s", diff)
	}
	for i := range 4 {
		save(fmt.Sprintf("more%d", i), "FINISHED", 800, "")
	}
	if text := survey().Text(); !strings.HasPrefix(text, "the log lacks what the saved states of 6 of 9 jobs have seen: beheaded: ") || !strings.HasSuffix(text, "; and 3 more") {
		t.Error(text)
	}
	noErr(t, b.State().Delete(t.Context(), "early"))
	if s := survey(); s.States != 8 || len(s.Lost) != 5 {
		t.Errorf("after one was deleted: %+v", s)
	}
}
