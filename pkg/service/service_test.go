package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/pkg/service"
)

const secret = "tr0ub4dor-and-3-horses"

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// none fails the test if a text contains the secret, or has lost the words around it.
func none(t *testing.T, what string, text []byte) {
	t.Helper()
	if bytes.Contains(text, []byte(secret)) || !bytes.Contains(text, []byte("kept")) {
		t.Errorf("%s: %s", what, text)
	}
}

// work puts n messages of work into the default pool.
func work(t *testing.T, b *bus.Bus, n int) {
	t.Helper()
	for i := range n {
		m := events.Message{Subject: b.Names().WorkFor(events.DefaultPool, "e", fmt.Sprint("j", i), "a", 1), Body: []byte(`{}`)}
		_, err := b.Publish(t.Context(), m, bus.Expect{})
		noErr(t, err)
	}
}

func open(t *testing.T, b *bus.Bus) *service.Queue {
	t.Helper()
	q, err := service.OpenQueue(t.Context(), events.DefaultPool, slog.New(slog.DiscardHandler), func(ctx context.Context) (*bus.Subscription, error) {
		if err := b.Queues().EnsurePool(ctx, events.DefaultPool); err != nil {
			return nil, err
		}
		return b.Queues().Consume(ctx, b.Queues().PoolConsumer(events.DefaultPool))
	})
	noErr(t, err)
	return q
}

// take reads n messages of work and settles them.
func take(t *testing.T, q *service.Queue, n int) {
	t.Helper()
	for n > 0 {
		list, err := q.Next(t.Context(), n)
		noErr(t, err)
		n -= len(list)
		for i := range list {
			noErr(t, list[i].Ack())
		}
	}
}

func TestAQueueWhoseConsumerWasDeletedIsReadOn(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	q := open(t, b)
	defer q.Stop()
	work(t, b, 1)
	take(t, q, 1)
	c, err := nats.Connect(server.URL())
	noErr(t, err)
	defer c.Close()
	js, err := jetstream.New(c)
	noErr(t, err)
	spec := b.Queues().PoolConsumer(events.DefaultPool)
	noErr(t, js.DeleteConsumer(t.Context(), spec.Stream, spec.Durable))
	work(t, b, 3)
	take(t, q, 3)
}

func TestAQueueEndsWithItsContext(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	q := open(t, b)
	defer q.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Next(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Next: %v", err)
	}
}

// The broker would redeliver a message of the pool only after minutes; the next reader gets what was given back at once.
func TestADrainedQueueGivesBackWhatItHasNotBegun(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	first := open(t, b)
	work(t, b, 8)
	list, err := first.Next(t.Context(), 1)
	noErr(t, err)
	noErr(t, list[0].Ack())
	first.Drain(t.Context())
	second := open(t, b)
	defer second.Stop()
	take(t, second, 7)
}

func TestNoSecretOfAProcessPassesItsPorts(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	secrets := redact.NewSet(secret)
	text := fmt.Sprintf(`{"a":"kept","b":"%s"}`, secret)

	journal := service.NewJournal(b, secrets)
	_, err := journal.Append("j", "s", events.JournalRecord{
		Type: events.JournalIntent, Run: 1, Data: []byte(text), Reason: "kept " + secret,
	}, 0).Wait(t.Context())
	noErr(t, err)
	records, err := journal.Read(t.Context(), "j", "s")
	noErr(t, err)
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	none(t, "data of a record", records[0].Data)
	none(t, "reason of a record", []byte(records[0].Reason))

	facts := service.NewLog(b, secrets, true)
	e := events.Event{Kind: events.KindSubJobReported, Job: "j", SubJob: "s", Run: 1, ID: "report", Source: "test", Data: &events.SubJobReported{
		Outcome: events.Success, Output: []byte(text),
	}}
	for _, want := range []error{nil, store.ErrConflict} {
		told, err := facts.Once(e)
		noErr(t, err)
		if _, err := told.Wait(t.Context()); !errors.Is(err, want) {
			t.Errorf("a fact that is stated once: %v, want %v", err, want)
		}
	}
	for e, err := range b.Log().EventsOf(t.Context(), "j", 0) {
		noErr(t, err)
		if d, ok := e.Data.(*events.SubJobReported); ok {
			none(t, "output of a report", d.Output)
		}
	}

	blobs := service.NewBlobs(b, secrets, t.TempDir())
	ref, err := blobs.Put(t.Context(), "j", []byte(text))
	noErr(t, err)
	payload, err := blobs.Get(t.Context(), "j", ref.Digest)
	noErr(t, err)
	none(t, "payload", payload)
}

func TestAFileIsStoredWithoutSecretsAndAnyOtherAsItIs(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	blobs := service.NewBlobs(b, redact.NewSet(secret), t.TempDir())
	for name, file := range map[string]string{
		"text":   strings.Repeat("kept ", 5000) + secret + " kept",
		"binary": "\x00kept" + strings.Repeat("\x01", 20000) + secret + "kept",
	} {
		ref, err := blobs.Store(t.Context(), "j", strings.NewReader(file))
		noErr(t, err)
		var stored bytes.Buffer
		noErr(t, blobs.Fetch(t.Context(), "j", ref.Digest, &stored))
		none(t, name, stored.Bytes())
		if name == "binary" && stored.Len() != len(file) {
			t.Errorf("what follows the secret was moved: %d bytes of %d", stored.Len(), len(file))
		}
	}
	plain := strings.NewReader("kept as it is")
	if _, err := plain.Seek(5, io.SeekStart); err != nil { // The position of a reader does not matter.
		t.Fatal(err)
	}
	ref, err := blobs.Store(t.Context(), "j", plain)
	noErr(t, err)
	var stored bytes.Buffer
	noErr(t, blobs.Fetch(t.Context(), "j", ref.Digest, &stored))
	if stored.String() != "kept as it is" {
		t.Errorf("stored %q", stored.String())
	}
}

// report is the success of a run of the job whose request has a sequence.
func report(born uint64, output string) events.Event {
	return events.Event{
		Kind: events.KindSubJobReported, ID: incarnation.ID("j", born) + "/a/1", Job: "j", SubJob: "a", Run: 1, Source: "test", Born: born,
		Data: &events.SubJobReported{Outcome: events.Success, Output: []byte(output)},
	}
}

// A fact of a job that was deleted does not take the place of that of the job which has its id now; a repeat does.
func TestAFactOfAnEarlierJobWithTheSameIDIsNoRepeat(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	log := service.NewLog(b, nil, true)
	asked := func(born uint64) events.Event {
		return events.Event{Kind: events.KindInputRequested, ID: "q", Job: "j", SubJob: "a", Run: 1, Source: "test", Born: born, Data: &events.InputRequested{Request: "q"}}
	}
	once := func(e events.Event) (uint64, error) {
		said, err := log.Once(e)
		noErr(t, err)
		return said.Wait(t.Context())
	}
	for _, e := range []events.Event{report(7, "1"), report(9, "2"), asked(7), asked(9)} {
		if _, err := once(e); err != nil {
			t.Errorf("%s of the job of %d: %v", e.Kind, e.Born, err)
		}
	}
	other := report(9, "3")
	other.ID += "x" // Past the window in which the server drops repeats.
	for _, e := range []events.Event{other, report(8, "4")} {
		if _, err := once(e); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %v", e.ID, err)
		}
	}
	var list []string
	for e, err := range b.Log().EventsOf(t.Context(), "j", 0) {
		noErr(t, err)
		list = append(list, fmt.Sprint(e.Kind, " ", e.Born))
	}
	if want := "[subjob.reported 7 subjob.reported 9 input.requested 7 input.requested 9]"; fmt.Sprint(list) != want {
		t.Errorf("the log has %v, want %s", list, want)
	}
}
