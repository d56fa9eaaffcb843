package access_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// signed connects as an identity that checks signatures.
func (s *stage) signed(of *access.Tenant, name string) *bus.Bus {
	s.t.Helper()
	return s.checking(of, name, of.Signers())
}

// checking connects as an identity that checks signatures by a list of signers.
func (s *stage) checking(of *access.Tenant, name string, signers any) *bus.Bus {
	s.t.Helper()
	o := s.server.Options(name)
	o.NKey, o.Prefix, o.Signers = s.seeds[of.Name+"/"+name], of.Prefix, filepath.Join(s.t.TempDir(), "signers.json")
	list, err := json.Marshal(signers)
	if err == nil {
		err = os.WriteFile(o.Signers, list, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	b := musttest.Get(bus.Connect(s.t.Context(), o))(s.t)
	s.t.Cleanup(b.Close)
	return b
}

// steal publishes a message with an id as a runner or client would, and settles it if it is work of its pool.
func steal(t *testing.T, nc *nats.Conn, n events.Names, subject, id string, pools []string) {
	t.Helper()
	m, err := nc.RequestMsg(&nats.Msg{Subject: subject, Data: []byte("stolen"), Header: nats.Header{events.HeaderMsgID: {id}}}, bound)
	if err != nil {
		t.Fatal(subject, err)
	}
	var ack struct {
		Stream string `json:"stream"`
		Seq    uint64 `json:"seq"`
	}
	if json.Unmarshal(m.Data, &ack) != nil || ack.Seq == 0 {
		t.Fatalf("%s is not stored: %s", subject, m.Data)
	}
	if ack.Stream != n.Work {
		return
	}
	work, err := nc.Request("$JS.API.CONSUMER.MSG.NEXT."+n.Work+".pool-"+pools[0], []byte("1"), bound)
	if err == nil {
		_, err = nc.Request(work.Reply, []byte("+ACK"), bound)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoOneTakesTheIDOfAMessageOfOthers has every identity outside the engine publish first, on each subject of a stream that it may use,
// with the id of another's message to come. What can be removed is removed.
func TestNoOneTakesTheIDOfAMessageOfOthers(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	others := s.signed(tenant, "admin")
	n, live := others.Names(), item.LiveSubjects(others.Names())
	for _, c := range []struct {
		stream, all, subject string
		closed               bool // No one outside the engine publishes there.
	}{
		{n.Log, n.AllEvents(), n.RunEvent("victim", events.KindSubJobReported, "a", 1), false},
		{n.Intake, n.Request(), n.Request(), false},
		{n.Work, n.AllWork(), n.WorkFor("d", "x", "victim", "a", 1), true},
		{n.Journal, n.AllJournals(), n.JournalOf("victim", "a"), false},
		{n.Aside, n.AllAside(), n.SetAside(bus.DeadWork, 1), true},
		{live.Stream(), live.All(), live.SubJob("victim", "a"), false},
		{"OBJ_" + n.Blobs, "$O." + n.Blobs + ".>", "$O." + n.Blobs + ".C.victim", false},
	} {
		tried := 0
		for i := range tenant.Identities {
			id := &tenant.Identities[i]
			if id.Role.Inside() {
				continue
			}
			nc := s.raw(tenant, id.Name)
			for _, pattern := range id.Permissions(n).Publish {
				subject := sample(pattern)[0]
				if !within(c.all, subject) {
					continue
				}
				word := id.Name + "/" + subject
				steal(t, nc, n, subject, word, id.Pools)
				tried++
				if c.stream == n.Intake { // A scheduler takes it.
					musttest.Do(t, others.Streams().Purge(t.Context(), c.stream, c.subject))
				}
				seq := musttest.Get(others.Publish(t.Context(), events.Message{Subject: c.subject, Body: []byte("true"), Header: events.Header(events.HeaderMsgID, word)}, bus.Expect{}))(t)
				if m, err := others.Streams().At(t.Context(), c.stream, seq); err != nil || string(m.Body) != "true" {
					t.Errorf("%s takes the id of a message on %s by one on %s: %v", id.Name, c.subject, subject, err)
				}
			}
		}
		if tried == 0 != c.closed {
			t.Errorf("%d subjects of stream %s were tried", tried, c.stream)
		}
	}
}

func member(n events.Names, pool, id string) *batch.Member {
	return &batch.Member{Subject: n.WorkFor(pool, "x", "j", "a", 1), ID: id, Trace: "t", Work: []byte(`{"goal":"<b>"}`)}
}

func TestASchedulerPutsWorkBackForARunner(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper, a := s.bus(tenant, "scheduler"), s.bus(tenant, "runner-a")
	n := keeper.Names()
	if err := a.Queues().PutBack("a", member(n, "a", "early"))(t.Context()); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("without a scheduler: %v", err)
	}
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	musttest.Do(t, keeper.Flush(t.Context()))
	on := func(subject string) *batch.Member {
		return &batch.Member{Subject: subject, ID: "odd", Work: []byte(`{}`)}
	}
	text := member(n, "a", "text")
	text.Work = []byte("no JSON")
	for _, c := range []struct {
		name, pool string
		m          *batch.Member
		want       error
	}{
		{"work of its pool", "a", member(n, "a", "one"), nil},
		{"the same again", "a", member(n, "a", "one"), nil},
		{"the same of a later job", "a", member(n, "a", "two"), nil},
		{"work of another pool", "a", member(n, "b", "three"), bus.ErrRefused},
		{"work of another pool in its name", "b", member(n, "b", "three"), bus.ErrNotPermitted},
		{"a batch", "a", &batch.Member{Subject: batch.Subject(n, "a", "x", "j", 2), ID: "four", Work: []byte(`{}`)}, bus.ErrRefused},
		{"no run", "a", on("jobs.work.a.x.j.a.>"), bus.ErrRefused},
		{"a run before the first one", "a", on("jobs.work.a.x.j.a.0"), bus.ErrRefused},
		{"all jobs", "a", on("jobs.work.a.x.*.a.1"), bus.ErrRefused},
		{"more than work", "a", on("jobs.work.a.x.j.a.1.b"), bus.ErrRefused},
		{"no work", "a", on("jobs.cancel.j.1"), bus.ErrRefused},
		{"no id", "a", member(n, "a", ""), bus.ErrRefused},
		{"no JSON", "a", text, bus.ErrRefused},
	} {
		if err := a.Queues().PutBack(c.pool, c.m)(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	subjects, err := keeper.Streams().Subjects(t.Context(), n.Work, n.AllWork())
	if at := n.WorkFor("a", "x", "j", "a", 1); err != nil || len(subjects) != 1 || subjects[at] != 2 {
		t.Fatalf("the work is %v (%v), want two messages on %s", subjects, err, at)
	}
	m, err := keeper.Streams().LastOn(t.Context(), n.Work, n.AllWork())
	if err != nil || string(m.Body) != `{"goal":"<b>"}` || m.Get(events.HeaderTrace) != "t" || m.Get(events.HeaderID) != "two" {
		t.Errorf("%v: %s (%v)", m.Header, m.Body, err)
	}
	// Work of another pool may have the id of work that was put back and is done.
	musttest.Do(t, keeper.Streams().Purge(t.Context(), n.Work, n.PoolWork("a")))
	seq, err := keeper.Publish(t.Context(), member(n, "b", "one").Message(), bus.Expect{})
	if err != nil || seq <= m.Seq {
		t.Errorf("work of another pool was dropped: %d (%v)", seq, err)
	}
}

// Someone who tries a request again does so for its sender, however long after that has signed it.
func TestALetterHasTheSignerOfItsRequest(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	b := s.signed(tenant, "scheduler")
	say(t, s.signed(tenant, "client"), b.Names().Request(), `{"goal":"g"}`)
	m := musttest.Get(b.Streams().LastOn(t.Context(), b.Names().Intake, b.Names().Request()))(t)
	a := bus.DeadLetter{Kind: bus.DeadRequest, Message: m.Message, Stored: m.Time, Time: m.Time.Add(time.Hour)}
	if who, asked, err := b.DeadLetters().Signer(&a); err != nil || !asked || who.Name != "client" {
		t.Errorf("the signer is %+v, asked %v, %v", who, asked, err)
	}
	a.Stored = a.Time // The signature was made for another time.
	if who, _, err := b.DeadLetters().Signer(&a); err == nil {
		t.Errorf("the signer of an old signature is %+v", who)
	}
}

func TestASchedulerSetsAsideForARunner(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	keeper, a := s.bus(tenant, "scheduler"), s.bus(tenant, "runner-a")
	n := keeper.Names()
	work := events.Message{Subject: n.Prefix() + ".work.a.x", Body: []byte("?"), Header: events.Header(events.HeaderID, "7")}
	musttest.Get(keeper.Publish(t.Context(), work, bus.Expect{}))(t)
	sub := musttest.Get(a.Queues().Consume(t.Context(), a.Queues().PoolConsumer("a")))(t)
	defer sub.Stop()
	list := musttest.Get(sub.Next(t.Context(), 1))(t)
	if err := list[0].Term("no run"); !errors.Is(err, bus.ErrUnavailable) {
		t.Errorf("without a scheduler: %v", err)
	}
	stop := musttest.Get(keeper.Services().Keep())(t)
	defer stop()
	musttest.Do(t, keeper.Flush(t.Context()))
	for range 2 { // One copy is enough.
		musttest.Do(t, list[0].Term("no\nrun"))
	}
	for _, what := range []string{
		`{"subject":"jobs.work.b.x","seq":9}`, `{"subject":"jobs.request","seq":9}`, `{"subject":"jobs.work.~planner.x","seq":9}`, `{"seq":9}`,
	} {
		m, err := s.raw(tenant, "runner-a").Request(n.Card("a", "~aside"), []byte(`{"op":"aside","aside":`+what+`}`), bound)
		if err != nil || !strings.Contains(string(m.Data), `"refused":"refused"`) {
			t.Errorf("%s is set aside: %s, %v", what, m.Data, err)
		}
	}
	dead, err := keeper.DeadLetters().List(t.Context())
	if err != nil || len(dead) != 1 {
		t.Fatalf("%+v, %v", dead, err)
	}
	if d := dead[0]; d.ID() != "work:1:a" || d.Reason != "no run" || d.Message.Subject != work.Subject || string(d.Message.Body) != "?" || d.Message.Get(events.HeaderID) != "7" || d.Stored.IsZero() {
		t.Errorf("%+v", d)
	}
}
