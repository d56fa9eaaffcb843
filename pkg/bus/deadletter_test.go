package bus_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// hopeless queues a message, takes it and gives up on it.
func hopeless(t *testing.T, b *bus.Bus, spec bus.ConsumerSpec, m events.Message, reason string) {
	t.Helper()
	musttest.Get(b.Publish(t.Context(), m, bus.Expect{}))(t)
	sub := musttest.Get(b.Queues().Consume(t.Context(), spec))(t)
	defer sub.Stop()
	list := musttest.Get(sub.Next(t.Context(), 1))(t)
	for range 2 { // The second time stands for a redelivery: one copy is enough.
		musttest.Do(t, list[0].Term(reason))
	}
}

func TestWhatIsHopelessIsSetAsideWithItsReason(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	n := b.Names()
	hopeless(t, b, b.Queues().IntakeConsumer(), events.Message{
		Subject: n.Request(), Body: []byte("{}"), Header: map[string][]string{"ce-id": {"7"}, "Jobgraph-Subject": {"jobs.other"}, "Jobgraph-Reason": {"none"}},
	}, "no goal\nand no plan")
	hopeless(t, b, b.Queues().PoolConsumer("default"), events.Message{Subject: n.Prefix() + ".work.default.x", Body: []byte("?")}, "no run")
	list := musttest.Get(b.DeadLetters().List(t.Context()))(t)
	type kept struct{ ID, Reason, Subject, Body, CE string }
	var got []kept
	for _, a := range list {
		if names := slices.Collect(maps.Keys(a.Message.Header)); slices.ContainsFunc(names, func(name string) bool { return name != "ce-id" }) {
			t.Errorf("%s has the headers %v", a.ID(), names)
		}
		got = append(got, kept{a.ID(), a.Reason, a.Message.Subject, string(a.Message.Body), a.Message.Get("ce-id")})
	}
	want := []kept{{"request:1", "no goal and no plan", "jobs.request", "{}", "7"}, {"work:1:default", "no run", "jobs.work.default.x", "?", ""}}
	musttest.Equal(t, want, got)
	one, err := b.DeadLetters().Get(t.Context(), "work:1:default")
	if err != nil || !one.Whole {
		t.Fatalf("%+v, %v", one, err)
	}
	musttest.Do(t, b.DeadLetters().Drop(t.Context(), &one))
	for _, id := range []string{"work:1:default", "work:0", "j1", "other:1"} {
		if _, err := b.DeadLetters().Get(t.Context(), id); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestWhatIsRefusedKeepsItsFaultsOneByOne(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	few := events.Faults{{Code: events.CodeMissing, Field: "goal", Message: "says nothing", Hint: "say\nit"}, {Code: events.CodeInvalid, Field: "plan", Message: "ä"}}
	many := slices.Repeat(events.Faults{{Code: events.CodeInvalid, Message: strings.Repeat("x", 1000)}}, 100)
	sub := musttest.Get(b.Queues().Consume(t.Context(), b.Queues().IntakeConsumer()))(t)
	defer sub.Stop()
	for _, faults := range []events.Faults{few, many} {
		put(t, b, events.Message{Subject: b.Names().Request(), Body: []byte("{}")})
		list := musttest.Get(sub.Next(t.Context(), 1))(t)
		musttest.Do(t, list[0].Refuse(faults))
	}
	list, err := b.DeadLetters().List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if diff := cmp.Diff(few, list[0].Faults); diff != "" || list[0].Reason != strings.Join(strings.Fields(few.Error()), " ") {
		t.Errorf("%s (-want +got):\n%s", list[0].Reason, diff)
	}
	if n := len(list[1].Faults); n == 0 || n == len(many) || !list[1].Whole {
		t.Errorf("%d faults of many, whole %v", n, list[1].Whole)
	}
}

func TestWhatIsTooLargeIsSetAsideWithoutItsBody(t *testing.T) {
	s := bustest.Start(t, bustest.Settings{Quiet: true})
	b := s.Bus("test")
	m := events.Message{Subject: b.Names().Request(), Body: []byte(strings.Repeat("x", bus.MaxMessage+1))}
	if err := b.PublishCore(m.Subject, nil, m.Body); err != nil { // Like a foreign client.
		t.Fatal(err)
	}
	sub := musttest.Get(b.Queues().Consume(t.Context(), b.Queues().IntakeConsumer()))(t)
	defer sub.Stop()
	list := musttest.Get(sub.Next(t.Context(), 1))(t)
	musttest.Do(t, list[0].Term("too large"))
	a, err := b.DeadLetters().Get(t.Context(), "request:1")
	if err != nil || a.Whole || len(a.Message.Body) > 0 || a.Reason != "too large" {
		t.Errorf("%+v, %v", a, err)
	}
}

// A letter is tried again only on the subject of what it says it is, since some of those who write letters may not publish there.
func TestALetterIsRequeuedWhereItBelongs(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	n := b.Names()
	work, notice := n.WorkFor("p", "x", "j", "a", 1), "jobs.work.~webhook.ops.j.~.7"
	for i, c := range []struct {
		kind, target, subject string
		want                  error
	}{
		{bus.DeadWork, "p", work, nil},
		{bus.DeadWork, "", n.WorkFor("q", "x", "j", "a", 1), nil}, // An earlier release did not note the pool.
		{bus.DeadWork, "p", work, bus.ErrConflict},
		{bus.DeadWork, "q", work, bus.ErrRefused},
		{bus.DeadWork, "", notice, bus.ErrRefused},
		{bus.DeadWork, "", n.Event("j", events.KindJobFinished), bus.ErrRefused},
		{bus.DeadWebhook, "other", notice, bus.ErrRefused},
		{bus.DeadWebhook, "x", work, bus.ErrRefused},
		{bus.DeadWebhook, "ops", notice, nil},
		{bus.DeadRequest, "", n.Request(), bus.ErrRefused},
		{bus.DeadRequest, "", work, bus.ErrRefused},
		{bus.DeadFact, "", n.Control("j"), bus.ErrRefused},
	} {
		a := bus.DeadLetter{Kind: c.kind, Seq: uint64(i + 1), Target: c.target, Message: events.Message{Subject: c.subject, Body: []byte("{}")}}
		if err := b.DeadLetters().Requeue(t.Context(), &a); !errors.Is(err, c.want) {
			t.Errorf("%s on %s: %v, want %v", a.ID(), c.subject, err, c.want)
		}
	}
	subjects, err := b.Streams().Subjects(t.Context(), n.Work, n.AllWork())
	if err != nil || len(subjects) != 3 {
		t.Errorf("the work is %v (%v)", subjects, err)
	}
}

// The letters of the largest groups give way before the stream is full.
func TestAFloodOfDeadLettersDisplacesItsOwn(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	n := b.Names()
	fill := func(kind, pool string, many int) {
		t.Helper()
		acks := make([]bus.Ack, many)
		for i := range acks {
			subject := n.SetAside(kind, uint64(i+1))
			if pool != "" {
				subject += "." + pool
			}
			acks[i] = b.PublishAsync(events.Message{Subject: subject, Header: events.Header("Jobgraph-Subject", n.WorkFor(pool, "x", "j", "a", 1))}, bus.Expect{})
		}
		for _, ack := range acks {
			_, err := ack.Wait(t.Context())
			noErr(t, err)
		}
	}
	count := func() map[string]int {
		t.Helper()
		list, err := b.DeadLetters().List(t.Context())
		noErr(t, err)
		got := map[string]int{}
		for _, d := range list {
			got[d.Kind+" "+d.Target]++
		}
		return got
	}
	fill(bus.DeadRequest, "", 20)
	fill(bus.DeadWork, "quiet", 50)
	hopeless(t, b, b.Queues().PoolConsumer("default"), events.Message{Subject: n.WorkFor("default", "x", "j", "a", 1), Body: []byte("?")}, "no run")
	want := map[string]int{"request ": 20, "work quiet": 50, "work default": 1}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("letters were removed without need (-want +got):\n%s", diff)
	}
	fill(bus.DeadWork, "loud", 700)
	fill(bus.DeadWebhook, "lesser", 190)
	for i := range 32 { // The last of these has another look.
		hopeless(t, b, b.Queues().PoolConsumer("default"), events.Message{Subject: n.WorkFor("default", "x", "j", "a", i+2), Body: []byte("?")}, "no run")
	}
	want = map[string]int{"request ": 20, "work quiet": 50, "work default": 33, "webhook lesser": 190, "work loud": 407}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("after a flood (-want +got):\n%s", diff)
	}
	if _, err := b.DeadLetters().Get(t.Context(), "work:700:loud"); err != nil {
		t.Error("the newest letter of the flood has been removed, not the oldest:", err)
	}
}
