package app_test

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/adapter"
)

// announced returns the descriptions of the cards in the catalogue, by id.
func announced(w *servicetest.Env) map[string]string {
	w.Helper()
	entries := musttest.Get(w.Bus.Experts().List(w.Context()))(w)
	cards := map[string]string{}
	for _, e := range entries {
		var card events.Card
		musttest.Decode(w, e.Value, &card)
		cards[card.ID] = card.Description
	}
	return cards
}

// becomes waits for the catalogue to be so.
func becomes(w *servicetest.Env, want map[string]string) {
	w.Helper()
	late := time.Now().Add(5 * time.Second) // Before a card could have expired by itself.
	w.Until("the catalogue has changed", func() bool { return cmp.Equal(want, announced(w)) || time.Now().After(late) })
	if diff := cmp.Diff(want, announced(w)); diff != "" {
		w.Fatal(diff)
	}
}

// cable is a connection that a test can cut.
type cable struct {
	server nats.InProcessConnProvider

	mu   sync.Mutex // Guards the fields below.
	cut  bool
	conn net.Conn
}

func (l *cable) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, net.ErrClosed
	}
	conn, err := l.server.InProcessConn()
	l.conn = conn
	return conn, err
}

// sever cuts the cable, or ends the cut.
func (l *cable) sever(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut = cut; cut {
		_ = l.conn.Close() // The reader of the connection sees it.
	}
}

// Cards that expired while the bus was away are back long before the next regular announcement would be due.
func TestCardsComeBackWithTheConnection(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		wire := &cable{server: w.Server}
		o := w.Server.Options("runner")
		o.InProcess = wire
		b := musttest.Get(bus.Connect(t.Context(), o))(t)
		t.Cleanup(b.Close)
		start(w, app.Settings{}, app.Deps{Bus: b, Functions: []app.Function{function("echo", false, echo)}})
		wire.sever(true)
		<-time.After(adapter.CardTTL + adapter.CardTTL/3 + time.Second) // A regular announcement has just failed.
		becomes(w, map[string]string{})
		wire.sever(false)
		becomes(w, map[string]string{"echo": ""})

		before := musttest.Get(w.Bus.Experts().Last(t.Context()))(t)
		wire.sever(true) // So briefly that no announcement is due.
		<-time.After(time.Second)
		wire.sever(false)
		<-time.After(3 * time.Second)
		if last, err := w.Bus.Experts().Last(t.Context()); err != nil || last == before {
			t.Errorf("the cards were not announced when the bus was back: %v", err)
		}
	})
}

// The regular announcements are 10 s apart, the attempts after a failure one.
func TestAnAnnouncementThatFailedIsRepeatedSoon(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		experts := "KV_" + w.Names.Experts
		raw := musttest.Get(nats.Connect("", nats.InProcessServer(w.Server)))(t)
		defer raw.Close()
		js, err := jetstream.New(raw)
		if err == nil {
			err = js.DeleteStream(t.Context(), experts)
		}
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(adapter.CardTTL/3 + time.Second)
		musttest.Do(t, w.Bus.Streams().Init(t.Context()))
		becomes(w, map[string]string{"echo": ""})
	})
}

// person is a card of kind human.
func person(name, description string) string {
	return "---\nname: " + name + "\nkind: human\ndescription: " + description + "\n---\nPlease.\n"
}

// proves C-weakness-issue-32
func TestCardsComeChangeAndGoWithTheirFiles(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		dir := folder(t, map[string]string{"a.md": person("a", "one"), "b.md": person("b", "one")})
		s := app.Default()
		s.Experts = []string{dir}
		r := start(w, s, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		becomes(w, map[string]string{"a": "one", "b": "one", "echo": ""})

		place(t, filepath.Join(dir, "a.md"), person("a", "two"))
		place(t, filepath.Join(dir, "b.md"), "---\nname: c\nkind: human\ndescription: three\npool: apart\n---\n")
		becomes(w, map[string]string{"a": "two", "c": "three", "echo": ""})

		// Work of the pool that has come with the file is taken, that of the expert who is gone stays.
		parked, waiting := work("c", "j1", "s", 1), work("b", "j2", "s", 1)
		body := musttest.JSON(t, parked)
		w.Publish(w.Names.WorkFor("apart", "c", "j1", "s", 1), body)
		w.Issue(waiting)
		state(w, waiting, true)
		w.Until("the person is asked", func() bool { return len(w.Facts("j1", events.KindInputRequested)) == 1 })
		<-time.After(time.Minute)
		if facts, err := w.Bus.Streams().Info(t.Context(), w.Names.Work); err != nil || facts.Messages != 1 {
			t.Errorf("%d messages of work are left, want that of the expert who is gone: %v", facts.Messages, err)
		}
		if got := sum(t, r.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total"); got < 1 {
			t.Errorf("%v changes counted", got)
		}

		place(t, filepath.Join(dir, "b.md"), person("b", "four"))
		w.Until("the person is asked", func() bool { return len(w.Facts("j2", events.KindInputRequested)) == 1 })
	})
}

func TestAFaultyFileChangesNothingAndSaysSo(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		dir := folder(t, map[string]string{"a.md": person("a", "one"), "b.md": person("b", "one")})
		s := app.Default()
		s.Experts = []string{dir}
		r := start(w, s, app.Deps{})
		place(t, filepath.Join(dir, "a.md"), person("a", "two"))
		place(t, filepath.Join(dir, "b.md"), "---\nname: b\nkind: hunam\n---\n")
		w.Until("the fault is noted", func() bool { return len(r.Health.Notes()) == 1 })
		if note := r.Health.Notes()[0].Reason; !strings.Contains(note, "b.md:3:7: kind: unknown kind \"hunam\" (did you mean human?)") {
			t.Errorf("the note is %q", note)
		}
		if reasons := r.Health.Reasons(t.Context()); len(reasons) != 0 {
			t.Errorf("the runner is not ready: %v", reasons)
		}
		<-time.After(time.Minute)
		musttest.Equal(t, map[string]string{"a": "one", "b": "one"}, announced(w))
		if got := sum(t, r.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total"); got != 1 {
			t.Errorf("the fault was counted %v times", got)
		}
		place(t, filepath.Join(dir, "b.md"), person("b", "three"))
		becomes(w, map[string]string{"a": "two", "b": "three"})
		if notes := r.Health.Notes(); len(notes) != 0 {
			t.Errorf("notes %v", notes)
		}
	})
}

func TestWorkInHandKeepsTheExpertThatItBeganWith(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		dir := folder(t, map[string]string{"jobgraph.yaml": `version: 1
models: {default: {model: m, base_url: "http://model.invalid/v1"}}
experts:
  - {name: Agent, kind: llm, prompt: First orders., tools: [write_file]}
`})
		asked, go_ := make(chan string, 8), make(chan struct{})
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			asked <- q.All()
			<-go_
			if len(q.Turns) == 2 {
				return llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"a","content":"b"}`}}}, nil
			}
			return llmtest.Answer{Text: "done"}, nil
		}))
		s := app.Default()
		s.WorkDir = t.TempDir()
		w.Config = filepath.Join(dir, "jobgraph.yaml")
		start(w, s, app.Deps{Doer: model})
		w.Issue(work("agent", "j1", "a", 1))
		first := <-asked
		place(t, filepath.Join(dir, "jobgraph.yaml"), `version: 1
models: {default: {model: m, base_url: "http://model.invalid/v1"}}
experts:
  - {name: Agent, kind: llm, description: new, prompt: Second orders., tools: [write_file]}
`)
		becomes(w, map[string]string{"agent": "new"})
		close(go_)
		w.Report(work("agent", "j1", "a", 1))
		w.Issue(work("agent", "j2", "a", 1))
		w.Report(work("agent", "j2", "a", 1))
		second := <-asked
		third := <-asked
		for i, seen := range []string{first, second, third} {
			want := "First orders."
			if i == 2 {
				want = "Second orders."
			}
			if !strings.Contains(seen, want) {
				t.Errorf("question %d has not %q:\n%s", i+1, want, seen)
			}
		}
	})
}
