package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publish starts a server on a folder and returns whether it accepted a message, and how many it has.
func publish(t *testing.T, store string, most int64) (took bool, has uint64) {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	o := ServerOrder{Name: "server-1", Port: port, Store: store, Most: most}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	nc, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", port), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	_, refused := js.Publish(ctx, "s", []byte("a message"))
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return refused == nil, info.State.Msgs
}

func TestAServerWithoutRoomKeepsWhatItHasAndTakesNothing(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		most int64
		took bool
		has  uint64
	}{{0, true, 1}, {noRoom, false, 1}, {0, true, 2}} {
		if took, has := publish(t, dir, c.most); took != c.took || has != c.has {
			t.Errorf("start %d: took %v and has %d, want %v and %d", i+1, took, has, c.took, c.has)
		}
	}
}

func TestAFullServerIsStartedWithTheLimitAndLaterWithout(t *testing.T) {
	p := &process{order: &ServerOrder{Name: "server-1", Store: "store"}, args: []string{"bench", "chaos-server", ""}}
	for _, most := range []int64{noRoom, 0} {
		if err := p.limit(most); err != nil {
			t.Fatal(err)
		}
		var o ServerOrder
		if err := json.Unmarshal([]byte(p.args[2]), &o); err != nil || o.Most != most || o.Store != "store" {
			t.Errorf("%v: %+v, want a limit of %d", err, o, most)
		}
	}
}
