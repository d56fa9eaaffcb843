package access_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func say(t *testing.T, b *bus.Bus, subject, body string) uint64 {
	t.Helper()
	return musttest.Get(b.Publish(t.Context(), events.Message{Subject: subject, Body: []byte(body)}, bus.Expect{}))(t)
}

func TestSomeoneOutsideFollowsStreamsWithoutAConsumer(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin, viewer := s.bus(tenant, "admin"), s.bus(tenant, "viewer")
	n := admin.Names()
	say(t, admin, n.Event("j1", events.KindJobFinished), "first")
	say(t, admin, n.Event("j2", events.KindJobFinished), "other")
	sub := musttest.Get(viewer.Log().Follow(t.Context(), n.JobEvents("j1"), bus.FollowOptions{}))(t)
	defer sub.Stop()
	for _, want := range []string{"first", "second", "third"} {
		if want != "first" {
			say(t, admin, n.Event("j1", events.KindJobFinished), want)
		}
		list, err := sub.Next(t.Context(), 1)
		if err != nil || string(list[0].Message().Body) != want {
			t.Fatalf("%v %v, want %s", list, err, want)
		}
	}
	news := musttest.Get(viewer.Log().Lifecycle().Listen(t.Context(), "j2"))(t)
	defer news.Stop()
	last := say(t, admin, n.Event("j2", events.KindJobFailed), "end")
	if seq, err := news.Next(t.Context()); err != nil || seq != last {
		t.Errorf("the end of a job is told as %d (%v), want %d", seq, err, last)
	}
	musttest.Get(admin.Experts().Put(t.Context(), "x", []byte(`{"id":"x"}`), 0))(t)
	if list, err := viewer.Experts().List(t.Context()); err != nil || len(list) != 1 || list[0].Key != "x" {
		t.Errorf("the cards are %v (%v)", list, err)
	}
	consumers, err := admin.Streams().Info(t.Context(), n.Log)
	if err != nil || consumers.Consumers != 2 { // One of the schedulers, one of the schedules.
		t.Errorf("the log has %d consumers (%v)", consumers.Consumers, err)
	}
	sub.Stop()
	if _, err := sub.Next(t.Context(), 1); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("after its end: %v", err)
	}
}

func card(t *testing.T, id, pool string) []byte {
	t.Helper()
	return named(t, id, id, pool)
}

func named(t *testing.T, id, name, pool string) []byte {
	t.Helper()
	return musttest.JSON(t, events.Card{ID: id, Name: name, Kind: "command", Pool: pool})
}

func TestASchedulerWritesForRunnersWhatIsTheirs(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper := s.bus(tenant, "scheduler")
	a, bc := s.bus(tenant, "runner-a"), s.bus(tenant, "runner-bc")
	if _, err := a.Experts().Put(t.Context(), "early", card(t, "early", "a"), 0); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("without a scheduler: %v", err)
	}
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	musttest.Do(t, keeper.Flush(t.Context()))
	put := func(b *bus.Bus, key string, value []byte) error {
		_, err := b.Experts().Put(t.Context(), key, value, 0)
		return err
	}
	remember := func(b *bus.Bus, key string) error {
		_, err := b.Memory().Put(t.Context(), key, []byte(`1`), 0)
		return err
	}
	for id, pool := range map[string]string{"old-a": "a", "old-b": "b"} { // A release that knew no rule about names let them both in.
		if _, err := keeper.Experts().Put(t.Context(), id, named(t, id, "Old", pool), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func() error
		want error
	}{
		{"the card that an expert has, whose name another has as well", func() error { return put(a, "old-a", named(t, "old-a", "Old", "a")) }, nil},
		{"a card of the own pool", func() error { return put(a, "x", card(t, "x", "a")) }, nil},
		{"a card of another pool", func() error { return put(a, "y", card(t, "y", "b")) }, bus.ErrNotPermitted},
		{"a card under another id", func() error { return put(a, "y", card(t, "z", "a")) }, bus.ErrRefused},
		{"the expert of another pool", func() error { return put(bc, "x", card(t, "x", "b")) }, bus.ErrNotPermitted},
		{"a card by the name of another pool's expert", func() error { return put(bc, "a1", named(t, "a1", "[X]", "b")) }, bus.ErrNotPermitted},
		{"a card whose id is such a name", func() error {
			return errors.Join(put(a, "w-1", named(t, "w-1", "Write It", "a")), put(bc, "write_it", card(t, "write_it", "b")))
		}, bus.ErrNotPermitted},
		{"a card without a name whose id is the name of another pool's expert", func() error { return put(bc, "write-it", named(t, "write-it", "", "b")) }, bus.ErrNotPermitted},
		{"cards without a name", func() error {
			return errors.Join(put(a, "n-1", named(t, "n-1", "", "a")), put(bc, "n-2", named(t, "n-2", "", "b")))
		}, nil},
		{"a new name of another pool's expert", func() error {
			return errors.Join(put(bc, "b1", card(t, "b1", "b")), put(bc, "b1", named(t, "b1", "write-it", "b")))
		}, bus.ErrNotPermitted},
		{"the name of an expert of the same pool", func() error { return put(a, "w-2", named(t, "w-2", "Write It", "a")) }, nil},
		{"the end of another pool's card", func() error { return bc.Experts().Delete(t.Context(), "x") }, bus.ErrNotPermitted},
		{"facts of an expert of the own pool", func() error { return remember(a, "fact.u.x") }, nil},
		{"facts that another has written", func() error { _, err := a.Memory().Update(t.Context(), "fact.u.x", []byte(`2`), 0); return err }, bus.ErrConflict},
		{"facts of an expert of another pool", func() error { return remember(bc, "fact.u.x") }, bus.ErrNotPermitted},
		{"facts of no expert", func() error { return remember(a, "fact.u.none") }, bus.ErrNotFound},
		{"a base of knowledge", func() error { return remember(a, "base.b") }, bus.ErrNotPermitted},
		{"a setting of a user", func() error { return remember(a, "user.u") }, bus.ErrNotPermitted},
		{"the end of facts", func() error { return a.Memory().Delete(t.Context(), "fact.u.x") }, bus.ErrNotPermitted},
		{"by which id an expert of the own pool knows a session", func() error { return a.SetRemoteContext(t.Context(), "s", "x", "c") }, nil},
		{"that an expert of the own pool knows a session no more", func() error { return a.SetRemoteContext(t.Context(), "t", "x", "") }, nil},
		{"the same of another pool", func() error { return bc.SetRemoteContext(t.Context(), "s", "x", "d") }, bus.ErrNotPermitted},
		{"the same of no expert", func() error { return a.SetRemoteContext(t.Context(), "s", "none", "d") }, bus.ErrNotFound},
		{"the end of a card that was written meanwhile", func() error { return a.Experts().Remove(t.Context(), "x", 99) }, bus.ErrConflict},
		{"the end of the own card", func() error { return a.Experts().Delete(t.Context(), "x") }, nil},
		{"the end of no card", func() error { return a.Experts().Delete(t.Context(), "nothing") }, nil},
		{"a session", func() error { _, err := a.Sessions().Put(t.Context(), "s", []byte(`{}`), 0); return err }, bus.ErrNotPermitted},
		{"a state", func() error { _, err := a.State().Put(t.Context(), "j", []byte(`{}`), 0); return err }, bus.ErrNotPermitted},
		{"the consumer of a pool", func() error { return bc.Queues().EnsurePool(t.Context(), "b~batch") }, nil},
		{"the consumer of another pool", func() error { return bc.Queues().BoundPool(t.Context(), "a", 1, true) }, bus.ErrNotPermitted},
		{"a limit of its pool", func() error { return bc.Queues().BoundPool(t.Context(), "c", 3, true) }, nil},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if id, err := keeper.RemoteContext(t.Context(), "s", "x"); id != "c" || err != nil {
		t.Errorf("the expert knows the session by the id %q (%v)", id, err)
	}
	if c, err := keeper.Queues().Info(t.Context(), keeper.Names().Work, "pool-c"); err != nil || !c.Bounded {
		t.Errorf("pool c is not bounded: %+v, %v", c, err)
	}
}

// TestASchedulerBelievesNoRunner sends requests that no client of ours sends: on a subject of the own pool, about something else.
func TestASchedulerBelievesNoRunner(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper, nc := s.bus(tenant, "scheduler"), s.raw(tenant, "runner-a")
	n := keeper.Names()
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	for id, pool := range map[string]string{"x": "a", "y": "b"} {
		musttest.Get(keeper.Experts().Put(t.Context(), id, card(t, id, pool), 0))(t)
	}
	if _, err := keeper.Sessions().Put(t.Context(), bus.ContextKey("s"), []byte("null"), 0); err != nil { // By a runner of an earlier release.
		t.Fatal(err)
	}
	musttest.Do(t, keeper.SetRemoteContext(t.Context(), "s", "y", "b's"))
	knows := func(session, id string) string {
		return string(musttest.JSON(t, map[string]any{"op": "context", "key": session, "value": []byte(id)}))
	}
	facts := func(key string) string { return `{"op":"facts","value":"MQ==","key":"` + key + `"}` }
	for _, c := range []struct{ name, expert, request, want string }{
		{"facts of its expert", "x", facts("fact.u.x"), ""},
		{"facts of another expert", "x", facts("fact.u.y"), "not_permitted"},
		{"facts of no expert", "none", facts("fact.u.none"), "not_permitted"},
		{"no facts", "x", facts("base.u.x"), "not_permitted"},
		{"facts that were written meanwhile", "x", `{"op":"facts","value":"MQ==","key":"fact.u.x","last":99}`, "conflict"},
		{"the longest id", "x", knows("s", strings.Repeat("x", 4<<10)), ""},
		{"a longer id", "x", knows("s", strings.Repeat("x", 4<<10+1)), "refused"},
		{"the id of a session", "x", knows("s", "a's"), ""},
		{"the id of another's session", "y", knows("s", "a's"), "not_permitted"},
		{"the id of no expert's session", "none", knows("s", "a's"), "not_permitted"},
		{"the id of no session", "x", knows("", "a's"), "refused"},
		{"the card of another pool", "x", string(musttest.JSON(t, map[string]any{"op": "put", "value": card(t, "x", "b")})), "refused"},
		{"a pool whose work never comes back", "~pool", `{"op":"pool","pool":{"ack_wait":3600000000000,"most":-1}}`, ""},
		{"an unknown operation", "x", `{"op":"purge"}`, "refused"},
		{"no JSON", "x", `{`, "refused"},
	} {
		m := musttest.Get(nc.Request(n.Card("a", c.expert), []byte(c.request), bound))(t)
		var answer struct {
			Refused string `json:"refused"`
		}
		if musttest.Decode(t, m.Data, &answer); answer.Refused != c.want {
			t.Errorf("%s: refused as %q, want %q", c.name, answer.Refused, c.want)
		}
	}
	for expert, want := range map[string]string{"x": "a's", "y": "b's"} {
		if id, err := keeper.RemoteContext(t.Context(), "s", expert); id != want || err != nil {
			t.Errorf("expert %s knows the session by %q (%v), want %q", expert, id, err, want)
		}
	}
	entries, err := keeper.Memory().List(t.Context())
	if err != nil || len(entries) != 1 || entries[0].Key != "fact.u.x" {
		t.Errorf("the memory has %v (%v)", entries, err)
	}
	js := musttest.Get(jetstream.New(s.raw(tenant, "admin")))(t)
	pool := musttest.Get(js.Consumer(t.Context(), n.Work, "pool-a"))(t)
	if c := pool.CachedInfo().Config; c.AckWait > 30*time.Second || c.MaxAckPending < 0 {
		t.Errorf("the pool waits %s for at most %d acknowledgements", c.AckWait, c.MaxAckPending)
	}
}

// TestTheServerAnswersNowhereElse makes every identity outside the engine name subjects of streams as reply subjects of the
// requests that it may send.
func TestTheServerAnswersNowhereElse(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	admin := s.bus(tenant, "admin")
	n := admin.Names()
	say(t, admin, n.RunEvent("mine", events.KindSubJobReported, "a", 1), `{"outcome":"SUCCESS"}`)
	tap := s.raw(tenant, "admin")
	heard, err := tap.SubscribeSync(n.Prefix() + ".event.>")
	if err != nil || refused(t, tap) {
		t.Fatal(err)
	}
	asked := 0
	for i := range tenant.Identities {
		id := &tenant.Identities[i]
		if id.Role.Inside() {
			continue
		}
		nc := s.raw(tenant, id.Name)
		for _, subject := range id.Permissions(n).Publish {
			if !strings.HasPrefix(subject, "$JS.API.") && !strings.HasPrefix(subject, "$SRV.") {
				continue
			}
			for _, reply := range []string{n.RunEvent("theirs", events.KindSubJobReported, "a", 1), n.Event("theirs", events.KindJobFinished), n.Control("theirs")} {
				asked++
				musttest.Do(t, nc.PublishRequest(sample(subject)[0], reply, []byte(`{"seq":1,"batch":1}`)))
			}
		}
		if refused(t, nc) {
			t.Fatal(id.Name, nc.LastError())
		}
		musttest.Get(nc.Request("$JS.API.STREAM.INFO."+n.Log, nil, bound))(t)
	}
	if asked < 100 {
		t.Errorf("only %d requests were tried", asked)
	}
	// Within the account of the streams this works, which shows that the requests above were valid.
	inside := n.Event("inside", events.KindJobFinished)
	musttest.Do(t, s.raw(tenant, "gateway").PublishRequest("$JS.API.DIRECT.GET."+n.Log, inside, []byte(`{"seq":1}`)))
	if m, err := heard.NextMsg(bound); err != nil || m.Subject != inside {
		t.Errorf("the first answer in the log came on %v: %v", m, err)
	}
}
