package bus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// sdk returns the SDK's own view of a server, like that of an operator.
func sdk(t testing.TB, server *bustest.Server) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(server))
	noErr(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	noErr(t, err)
	return js
}

func TestInitIsIdempotentAndSurvivesARestart(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Connect("test")
	var faults events.Faults
	if err := b.Streams().Check(t.Context()); !errors.As(err, &faults) || len(faults) != 13 {
		t.Fatalf("check of an empty server gives %v", err)
	}
	noErr(t, b.Streams().Init(t.Context()))
	noErr(t, b.Streams().Check(t.Context()))
	noErr(t, b.Streams().Init(t.Context()))
	back := make(chan struct{}, 1)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	server.Start()
	<-back
	noErr(t, b.Streams().Init(t.Context()))
	noErr(t, b.Streams().Check(t.Context()))
}

func TestTwoPrefixesShareAnAccount(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	server.Bus("test")
	o := server.Options("other")
	o.Prefix = "other"
	b, err := bus.Connect(t.Context(), o)
	noErr(t, err)
	defer b.Close()
	noErr(t, b.Streams().Init(t.Context()))
	noErr(t, b.Streams().Drop(t.Context()))
	noErr(t, server.Connect("third").Streams().Check(t.Context()))
}

func TestInitRefusesAForeignStreamAndCreatesNothing(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	js := sdk(t, server)
	for _, name := range []string{"JOBS", "JOBS_WORK"} {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".x"}})
		noErr(t, err)
	}
	b := server.Connect("test")
	err := b.Streams().Init(t.Context())
	var faults events.Faults
	if !errors.As(err, &faults) || len(faults) != 2 || faults[0].Code != events.CodeConflict || faults[0].Hint == "" {
		t.Fatalf("init beside foreign streams gives %v", err)
	}
	facts, err := b.Streams().List(t.Context())
	noErr(t, err)
	if len(facts) != 2 {
		t.Fatalf("%d streams exist, want the 2 foreign ones", len(facts))
	}
}

func TestInitRefusesStreamsOfOthersThatTakeItsSubjectsAndCreatesNothing(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	js := sdk(t, server)
	for name, subjects := range map[string][]string{
		"ORDERS": {"orders.>", "jobs.request"}, "WORK": {"jobs.work.*.x.>", "jobs.journal"}, "OTHERS": {"jobs", "job.>", "jobs.api.>"}, "CARDS": {"$KV.JOBS_EXPERTS.a"},
	} {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: subjects})
		noErr(t, err)
	}
	b := server.Connect("test")
	err := b.Streams().Init(t.Context())
	var faults events.Faults
	if !errors.As(err, &faults) || len(faults) != 3 {
		t.Fatalf("init beside streams that take its subjects gives %v", err)
	}
	for i, want := range []string{
		"CARDS: the stream takes $KV.JOBS_EXPERTS.a, which overlaps with $KV.JOBS_EXPERTS.>",
		"ORDERS: the stream takes jobs.request, which overlaps with jobs.request",
		"WORK: the stream takes jobs.work.*.x.>, which overlaps with jobs.work.>",
	} {
		if f := faults[i]; f.Code != events.CodeConflict || f.Error() != want || !strings.Contains(f.Hint, "--prefix") || !strings.Contains(f.Hint, "nats stream edit "+f.Field) {
			t.Errorf("%+v, want %s", f, want)
		}
	}
	facts, err := b.Streams().List(t.Context())
	noErr(t, err)
	if len(facts) != 0 {
		t.Errorf("%d streams were created", len(facts))
	}
	for _, name := range []string{"ORDERS", "WORK", "CARDS"} {
		noErr(t, js.DeleteStream(t.Context(), name))
	}
	noErr(t, b.Streams().Init(t.Context()))
}

func TestCheckReportsEveryDifferenceTogether(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	js := sdk(t, server)
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"JOBS":         func(c *jetstream.StreamConfig) { c.AllowRollup = true },
		"JOBS_JOURNAL": func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld; c.Duplicates /= 2 },
	} {
		stream, err := js.Stream(t.Context(), name)
		noErr(t, err)
		cfg := stream.CachedInfo().Config
		change(&cfg)
		_, err = js.UpdateStream(t.Context(), cfg)
		noErr(t, err)
	}
	noErr(t, js.DeleteConsumer(t.Context(), "JOBS_WORK", "pool-default"))
	err := b.Streams().Check(t.Context())
	for _, place := range []string{"JOBS.allow_rollup_hdrs", "JOBS_JOURNAL.discard", "JOBS_JOURNAL.duplicate_window", "JOBS_WORK.pool-default"} {
		if err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%s is not reported: %v", place, err)
		}
	}
}

func TestOperatorMayLimitStreams(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	js := sdk(t, server)
	stream, err := js.Stream(t.Context(), "JOBS")
	noErr(t, err)
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgs = 2
	_, err = js.UpdateStream(t.Context(), cfg)
	noErr(t, err)
	noErr(t, b.Streams().Init(t.Context()))
	put(t, b, fact(b, "j1", "a"))
	put(t, b, fact(b, "j1", "b"))
	_, err = b.Publish(t.Context(), fact(b, "j1", "c"), bus.Expect{})
	wantErr(t, err, bus.ErrFull)
	facts, err := b.Streams().Info(t.Context(), "JOBS")
	noErr(t, err)
	if facts.Full() != 1 {
		t.Fatalf("stream is %v full, want 1", facts.Full())
	}
}
