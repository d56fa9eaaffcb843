package bus_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// FuzzAnyBytesOnOurSubjects publishes what any client may publish: arbitrary bytes, headers and last tokens on every subject that a
// stream captures. Everything that is stored must reach its reader, decode or fault, and hold up nothing behind it.
func FuzzAnyBytesOnOurSubjects(f *testing.F) {
	for _, seed := range []struct{ token, header, value, body string }{
		{"a", "ce-type", "io.jobgraph.input.closed.v1", `{"action":"answered"}`},
		{"~", "ce-type", "x", `{`},
		{"1", "Nats-Expected-Last-Subject-Sequence", "7", `{"type":"job.requested"}`},
		{"a", "Nats-Schedule", "@every 1s", `null`},
		{"a", "Nats-Rollup", "all", ``},
		{"a", "Status", "503", ""},
		{"a", "Status", "503", "\xff\x00"},
		{"a", "Nats-TTL", "1s", `{"specversion":"1.0","type":"x","data":1}`},
		{"a", "Nats-Sequence", "1", `[]`},
	} {
		f.Add(seed.token, seed.header, seed.value, []byte(seed.body))
	}
	server := bustest.Start(f, bustest.Settings{})
	b := server.Bus("fuzz")
	raw, err := nats.Connect("", nats.InProcessServer(server))
	noErr(f, err)
	f.Cleanup(raw.Close)
	theirs, err := bus.Use(raw, "")
	noErr(f, err)
	f.Cleanup(theirs.Close)
	n := b.Names()
	readers := map[string]*bus.Subscription{}
	for _, c := range []bus.ConsumerSpec{b.Queues().SchedulerConsumer(0, 1), b.Queues().IntakeConsumer(), b.Queues().PoolConsumer("default")} {
		readers[c.Stream] = reader(f, b, c)
	}
	f.Fuzz(func(t *testing.T, token, header, value string, body []byte) {
		subjects := map[string][]string{
			n.Log:    {n.Event("j1", events.KindInputClosed, token), n.Control("j1"), n.RunEvent("j1", events.KindSubJobReported, token, 1)},
			n.Intake: {n.Request()},
			n.Work:   {n.WorkFor("default", "e", "j1", token, 1)},
		}
		for stream, list := range subjects {
			for _, subject := range list {
				_ = raw.PublishMsg(&nats.Msg{Subject: subject, Header: nats.Header{header: {value}}, Data: body}) // May be refused.
			}
			last := list[len(list)-1]
			if stream == n.Log {
				last = n.Control("j1")
			}
			if stream == n.Work {
				last = n.WorkFor("default", "e", "j1", "end", 1)
			}
			noErr(t, theirs.Flush(t.Context()))
			end := put(t, b, events.Message{Subject: last, Body: []byte("{}")})
			for done := false; !done; {
				for _, d := range take(t, readers[stream], 1) {
					_, _ = d.Event()
					_ = json.Unmarshal(d.Message().Body, &events.Work{})
					noErr(t, d.Ack())
					done = d.Seq() == end
				}
			}
		}
		_, _, err := b.Journal("j1", "a").Read(t.Context())
		noErr(t, err)
		for _, err := range b.Log().EventsOf(t.Context(), "j1", 0) {
			noErr(t, err)
		}
		noErr(t, b.Streams().Purge(t.Context(), n.Log, n.AllEvents()))
	})
}
