package bus_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestKeyIsWrittenOnlyOverTheRevisionThatWasRead(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	state := b.State()
	_, _, err := state.GetLeader(t.Context(), "j1")
	wantErr(t, err, bus.ErrNotFound)
	rev, err := state.Update(t.Context(), "j1", []byte("a"), 0)
	noErr(t, err)
	_, err = state.Update(t.Context(), "j1", []byte("b"), 0)
	wantErr(t, err, bus.ErrConflict)
	next, err := state.Update(t.Context(), "j1", []byte("b"), rev)
	noErr(t, err)
	for name, get := range map[string]func() ([]byte, uint64, error){
		"leader":  func() ([]byte, uint64, error) { return state.GetLeader(t.Context(), "j1") },
		"replica": func() ([]byte, uint64, error) { return state.Get(t.Context(), "j1") },
	} {
		value, got, err := get()
		noErr(t, err)
		if string(value) != "b" || got != next {
			t.Fatalf("%s gives %q at %d, want b at %d", name, value, got, next)
		}
	}
	noErr(t, state.Delete(t.Context(), "j1"))
	_, marker, err := state.GetLeader(t.Context(), "j1")
	wantErr(t, err, bus.ErrNotFound)
	_, err = state.Update(t.Context(), "j1", []byte("c"), marker)
	noErr(t, err)
	for _, key := range []string{"", "*", "a b", "a..b", "a.>"} {
		_, err := state.Put(t.Context(), key, nil, 0)
		wantErr(t, err, bus.ErrRefused)
	}
}

func TestKeysArePutTogether(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	state, want := b.State(), []string{"j0", "j1", "j2", "j3"}
	var entries []bus.Entry
	for _, key := range want {
		entries = append(entries, bus.Entry{Key: key, Value: []byte("value of " + key)})
	}
	noErr(t, state.PutAll(t.Context(), nil, 0))
	noErr(t, state.PutAll(t.Context(), entries, 0))
	list, err := state.List(t.Context())
	noErr(t, err)
	var got []string
	for _, e := range list {
		if got = append(got, e.Key); string(e.Value) != "value of "+e.Key {
			t.Errorf("%s is %q", e.Key, e.Value)
		}
	}
	slices.Sort(got)
	musttest.Equal(t, want, got)
	err = state.PutAll(t.Context(), []bus.Entry{{Key: "j0", Value: []byte("new")}, {Key: "a b"}, {Key: "j1"}}, 0)
	wantErr(t, err, bus.ErrRefused)
	if !strings.Contains(err.Error(), "a b") {
		t.Errorf("%v does not name the key", err)
	}
}

// The first write shows whether this process may write, and the others follow at once. Here the test answers in the place of the server.
func TestKeysArePutWithOneAnswerAhead(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Connect("test")
		nc, err := nats.Connect("", nats.InProcessServer(server))
		noErr(t, err)
		defer nc.Close()
		sub, err := nc.SubscribeSync("$KV." + b.Names().Experts + ".>")
		noErr(t, err)
		noErr(t, nc.Flush())
		over := make(chan error, 1)
		go func() {
			over <- b.Experts().PutAll(t.Context(), []bus.Entry{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}, {Key: "c", Value: []byte("3")}}, time.Minute)
		}()
		var got []string
		next := func() *nats.Msg {
			m, err := sub.NextMsg(time.Second)
			noErr(t, err)
			got = append(got, fmt.Sprintf("%s %s %s", m.Subject, m.Data, m.Header.Get("Nats-TTL")))
			return m
		}
		first := next()
		synctest.Wait()
		if n, _, err := sub.Pending(); err != nil || n != 0 {
			t.Errorf("%d keys are written before the first one is (%v)", n, err)
		}
		noErr(t, first.Respond([]byte(`{"stream":"S","seq":1}`)))
		for i, m := range []*nats.Msg{next(), next()} {
			noErr(t, m.Respond(fmt.Appendf(nil, `{"stream":"S","seq":%d}`, i+2)))
		}
		noErr(t, <-over)
		want := []string{"$KV.JOBS_EXPERTS.a 1 1m0s", "$KV.JOBS_EXPERTS.b 2 1m0s", "$KV.JOBS_EXPERTS.c 3 1m0s"}
		musttest.Equal(t, want, got)
	})
}

// lines passes on each line of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// restricted returns two connections to a server: the second one may not publish on a subject.
func restricted(t *testing.T, log lines, denied string) (all, some *bus.Bus) {
	server := bustest.Start(t, bustest.Settings{Config: musttest.Temp(t, "accounts.conf", `accounts { A { jetstream: enabled, users: [
		{user: all, password: p}, {user: some, password: p, permissions: {publish: {deny: ["`+denied+`"]}}}
	] } }`)})
	as := func(user string) *bus.Bus {
		o := server.Options(user)
		o.User, o.Password, o.Logger = user, "p", slog.New(slog.NewTextHandler(log, nil))
		b, err := bus.Connect(t.Context(), o)
		noErr(t, err)
		t.Cleanup(b.Close)
		return b
	}
	return as("all"), as("some")
}

// keyless returns two connections to a server with streams and a scheduler's service for keys: the second one may not write keys.
func keyless(t *testing.T, log lines) (all, some *bus.Bus) {
	all, some = restricted(t, log, "$KV.>")
	noErr(t, all.Streams().Init(t.Context()))
	stop, err := all.Services().Keep()
	noErr(t, err)
	t.Cleanup(stop)
	noErr(t, all.Flush(t.Context()))
	return all, some
}

func TestKeysThatThisProcessMayNotWriteAreTriedOnce(t *testing.T) {
	all, some := keyless(t, make(lines, 9))
	var denied atomic.Int64
	defer some.OnDenial("$KV.", func(string) { denied.Add(1) })()
	var cards []bus.Entry
	for _, id := range []string{"a", "b", "c"} {
		cards = append(cards, bus.Entry{Key: id, Value: []byte(`{"id":"` + id + `"}`)})
	}
	noErr(t, some.Experts().PutAll(t.Context(), cards, time.Minute))
	noErr(t, some.Flush(t.Context())) // All refusals have come before its answer.
	if list, err := all.Experts().List(t.Context()); err != nil || len(list) != 3 || denied.Load() != 1 {
		t.Errorf("%d cards after %d refusals (%v)", len(list), denied.Load(), err)
	}
}

func TestARefusalOfAKeyIsNotLoggedSinceASchedulerWritesIt(t *testing.T) {
	log := make(lines, 9)
	_, some := keyless(t, log)
	_, err := some.Experts().Put(t.Context(), "a", []byte(`{"id":"a"}`), time.Minute)
	noErr(t, err)
	_, err = some.Publish(t.Context(), events.Message{Subject: "$KV.JOBS_STATE.other"}, bus.Expect{})
	wantErr(t, err, bus.ErrNotPermitted)
	if first := <-log; !strings.Contains(first, "JOBS_STATE.other") { // Refusals are logged in their order.
		t.Errorf("the log begins with %s", first)
	}
}

func TestListGivesLiveKeysOnly(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	state := b.State()
	list, err := state.List(t.Context())
	noErr(t, err)
	if len(list) != 0 {
		t.Fatalf("an empty bucket lists %v", list)
	}
	for i := range 20 {
		_, err := state.Put(t.Context(), fmt.Sprintf("j%02d", i), []byte("v"), 0)
		noErr(t, err)
	}
	noErr(t, state.Delete(t.Context(), "j07"))
	keys, err := state.Keys(t.Context())
	noErr(t, err)
	slices.Sort(keys)
	if len(keys) != 19 || keys[0] != "j00" || slices.Contains(keys, "j07") {
		t.Fatalf("keys are %v", keys)
	}
	list, err = state.List(t.Context())
	noErr(t, err)
	if len(list) != 19 || string(list[0].Value) != "v" {
		t.Fatalf("list is %v", list)
	}
}

func TestOnlyRecordsOfSessionsAreListedAsSuch(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	sessions := []string{"plain", "a.b>*", "j1~step", "slots.customer", "x--tricky"}
	for _, id := range sessions {
		_, err := b.Sessions().Put(t.Context(), bus.SessionKey(id), []byte(id), 0)
		noErr(t, err)
	}
	for _, key := range []string{bus.SlotKey("customer"), bus.SlotKey("a.b"), "spent.session.plain"} {
		_, err := b.Sessions().Put(t.Context(), key, []byte(key), 0)
		noErr(t, err)
	}
	list, err := b.SessionRecords(t.Context())
	noErr(t, err)
	var got []string
	for _, e := range list {
		got = append(got, string(e.Value))
	}
	musttest.Equal(t, sessions, got)
}

func TestBucketIsOneOfEveryClient(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	theirs, err := sdk(t, server).KeyValue(t.Context(), "JOBS_STATE")
	noErr(t, err)
	_, err = b.State().Put(t.Context(), "j1", []byte("ours"), 0)
	noErr(t, err)
	e, err := theirs.Get(t.Context(), "j1")
	noErr(t, err)
	if string(e.Value()) != "ours" {
		t.Fatalf("they read %q", e.Value())
	}
	noErr(t, theirs.Delete(t.Context(), "j1"))
	_, _, err = b.State().Get(t.Context(), "j1")
	wantErr(t, err, bus.ErrNotFound)
	noErr(t, b.State().Delete(t.Context(), "j1"))
	_, err = theirs.Get(t.Context(), "j1")
	wantErr(t, err, jetstream.ErrKeyNotFound)
}

// proves C-weakness-issue-32
// proves C-weakness-issue-40
// proves C44
func TestWatchSeesCardsComeAndRunOut(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		cards := b.Experts()
		_, err := cards.Put(t.Context(), "old", []byte("1"), 0)
		noErr(t, err)
		saw, ready := make(chan bus.Entry, 8), make(chan struct{})
		stop, err := cards.Watch(t.Context(), func() { close(ready) }, func(e bus.Entry) { saw <- e })
		noErr(t, err)
		defer stop()
		<-ready
		_, err = cards.Put(t.Context(), "new", []byte("2"), 30*time.Second)
		noErr(t, err)
		start := time.Now()
		var got []string
		for range 3 {
			e := <-saw
			got = append(got, fmt.Sprintf("%s %q %v", e.Key, e.Value, e.Deleted))
		}
		want := []string{`old "1" false`, `new "2" false`, `new "" true`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if lived := time.Since(start); lived < 29*time.Second || lived > 2*time.Minute {
			t.Fatalf("the card lived for %s", lived)
		}
		_, _, err = cards.GetLeader(t.Context(), "new")
		wantErr(t, err, bus.ErrNotFound)
	})
}

func TestAWatchIsReadyWithEveryKeyAlsoWhileAllOfThemChange(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b, w := server.Bus("a"), server.Bus("b")
	const keys = 8
	for round := range 100 {
		for i := range keys {
			_, err := b.Experts().Put(t.Context(), fmt.Sprintf("k%d", i), []byte("{}"), 0)
			noErr(t, err)
		}
		var g sync.WaitGroup
		g.Go(func() {
			for i := range keys {
				_, err := b.Experts().Put(t.Context(), fmt.Sprintf("k%d", i), []byte("{}"), 0)
				noErr(t, err)
			}
		})
		got := map[string]bool{}
		done := make(chan int, 1)
		stop, err := w.Experts().Watch(t.Context(), func() { done <- len(got) }, func(e bus.Entry) { got[e.Key] = true })
		noErr(t, err)
		if n := <-done; n != keys {
			t.Errorf("round %d: ready with %d keys", round, n)
		}
		stop()
		list, err := w.Experts().List(t.Context())
		noErr(t, err)
		if len(list) != keys {
			t.Errorf("round %d: listed %d keys of %d", round, len(list), keys)
		}
		g.Wait()
	}
}
