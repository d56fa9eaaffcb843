package embed_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func start(t *testing.T, s embed.Settings) *embed.Server {
	t.Helper()
	return musttest.Get(embed.Start(s))(t)
}

func TestATemporaryStoreGoesWithItsServer(t *testing.T) {
	e := start(t, embed.Settings{})
	dir, temporary := e.Store()
	b := musttest.Get(bus.Connect(t.Context(), bus.Options{InProcess: e}))(t)
	if err := b.Streams().Init(t.Context()); err != nil {
		t.Error(err)
	}
	b.Close()
	musttest.Do(t, e.Stop())
	if _, err := os.Stat(dir); !temporary || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("store is still there: %v", err)
	}
	if e.URL() != "" {
		t.Errorf("listens on %s", e.URL())
	}
}

func TestATemporaryStoreThatIsKeptStays(t *testing.T) {
	e := start(t, embed.Settings{})
	dir := e.Keep()
	defer func() { _ = os.RemoveAll(dir) }()
	if _, temporary := e.Store(); temporary {
		t.Error("it is to be removed")
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestAStoreInUseIsRefusedAndThenFree(t *testing.T) {
	dir := t.TempDir()
	e := start(t, embed.Settings{Store: dir, Listen: "127.0.0.1:0"})
	_, err := embed.Start(embed.Settings{Store: dir})
	var faults events.Faults
	if !errors.As(err, &faults) || faults[0].Code != events.CodeConflict {
		t.Errorf("got %v", err)
	}
	musttest.Do(t, e.Stop())
	musttest.Do(t, start(t, embed.Settings{Store: dir}).Stop())
}

func TestABusyAddressIsAFault(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, err = embed.Start(embed.Settings{Listen: l.Addr().String()})
	var faults events.Faults
	if !errors.As(err, &faults) || faults[0].Field != "nats" {
		t.Errorf("got %v", err)
	}
}

// A file in place of the store's folder simulates a full disk: nothing beyond the open file can be written.
func TestAStoreThatCannotBeWrittenIsAFault(t *testing.T) {
	dir := t.TempDir()
	e := start(t, embed.Settings{Store: dir})
	b, err := bus.Connect(t.Context(), bus.Options{InProcess: e})
	if err != nil {
		t.Fatal(err)
	}
	musttest.Do(t, b.Streams().Init(t.Context()))
	if err := e.Sound(); err != nil {
		t.Errorf("a store that is well: %v", err)
	}
	messages := filepath.Join(dir, "jetstream", "$G", "streams", b.Names().Intake, "msgs")
	musttest.Do(t, errors.Join(os.RemoveAll(messages), os.WriteFile(messages, nil, 0o600)))
	var last bus.Ack
	for range 20 {
		last = b.PublishAsync(events.Message{Subject: b.Names().Request(), Body: make([]byte, bus.MaxMessage)}, bus.Expect{})
	}
	var faults events.Faults
	for err = e.Sound(); err == nil; err = e.Sound() {
		<-e.Alarms()
	}
	if !errors.As(err, &faults) || faults[0].Code != events.CodeUnavailable || !strings.Contains(faults[0].Cause, b.Names().Intake) {
		t.Errorf("got %v", err)
	}
	b.Close()
	if _, err := last.Wait(t.Context()); !errors.Is(err, bus.ErrUnknown) {
		t.Errorf("publish: got %v", err)
	}
	musttest.Do(t, e.Stop())
}
