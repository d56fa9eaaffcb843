package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// publish starts a server on a folder and returns whether it accepted a message, and how many it has.
func publish(t *testing.T, store string, most int64) (took bool, has uint64) {
	t.Helper()
	port := musttest.Get(freePort())(t)
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
	nc := musttest.Get(nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", port), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond)))(t)
	defer nc.Close()
	js := musttest.Get(jetstream.New(nc))(t)
	stream := musttest.Get(js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}))(t)
	_, refused := js.Publish(ctx, "s", []byte("a message"))
	info := musttest.Get(stream.Info(ctx))(t)
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
		musttest.Do(t, p.limit(most))
		var o ServerOrder
		if err := json.Unmarshal([]byte(p.args[2]), &o); err != nil || o.Most != most || o.Store != "store" {
			t.Errorf("%v: %+v, want a limit of %d", err, o, most)
		}
	}
}
