package app_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// bank serves the tool pay, and counts payments by idempotency key.
type bank struct {
	mu   sync.Mutex // Guards paid.
	paid map[string]int
}

func openBank(w *servicetest.Env, subject string) *bank {
	w.Helper()
	nc := musttest.Get(nats.Connect("", nats.InProcessServer(w.Server)))(w)
	w.Cleanup(nc.Close)
	b := &bank{paid: map[string]int{}}
	musttest.Get(nc.Subscribe(subject, func(m *nats.Msg) {
		b.mu.Lock()
		b.paid[m.Header.Get("Idempotency-Key")+" "+string(m.Data)]++
		b.mu.Unlock()
		_ = m.Respond([]byte("paid"))
	}))(w)
	musttest.Do(w, nc.Flush())
	return b
}

func (b *bank) all() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paid
}

// payingModel pays once and reports the result.
func payingModel() *llmtest.Server {
	return llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
		if len(q.Turns) == 2 {
			return llmtest.Answer{Calls: []llmtest.Call{{Name: "pay", Args: `{"amount":250}`}}}, nil
		}
		return llmtest.Answer{Text: q.Last("tool")}, nil
	}))
}

// endOf returns the event that ended a run: a report, or a question; nil if there is none.
func endOf(w *servicetest.Env, o events.Work) *events.Event {
	w.Helper()
	for _, kind := range []events.Kind{events.KindSubJobReported, events.KindInputRequested} {
		for _, e := range w.Facts(o.Job, kind) {
			if e.SubJob == o.SubJob && e.Run == o.Run {
				return &e
			}
		}
	}
	return nil
}

// A call that waits for an approval is made once, wherever its runner dies. If the runner died after the call and before
// its answer was recorded, a person decides, and it is repeated with the same key or not at all.
//
// proves C34
// proves V-weakness-4-run
func TestAnApprovedCallIsMadeOnceWhereverTheRunnerDies(t *testing.T) {
	boundaries, doubts := 0, 0
	for n := 0; n == 0 || n <= boundaries; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				b := openBank(w, "tools.pay")
				path := filepath.Join(t.TempDir(), "jobgraph.yaml")
				text := "version: 1\ntools:\n  pay: {subject: tools.pay, description: Pays.}\npolicies:\n  - {tool: pay, args: {amount: '>100'}, action: ask}\n"
				musttest.Write(t, path, text)
				s, d, file := agents(t, card(t, "tools: [pay]\n")), app.Deps{Doer: payingModel()}, path
				o := work("agent", "j1", "a", 1)
				w.Config = file
				zero := start(w, s, app.Deps{Owner: "zero", Doer: d.Doer})
				w.Issue(o)
				if asked := w.Asked(o); asked.Kind != events.InputApproval || !strings.Contains(asked.Prompt, `pay with {"amount":250}`) {
					t.Errorf("asked: %+v", asked)
				}
				w.Idle()
				zero.Kill()
				next := resumed(o, "a~1~approve-1-0", `{"approved":true}`)
				hook, crashed, count := crashes(n)
				w.Config = file
				one := start(w, s, app.Deps{Owner: "one", Doer: d.Doer, Hook: hook})
				state(w, next, true)
				w.Issue(next)
				if n == 0 {
					w.Report(next)
					w.Idle()
					boundaries = count()
				} else {
					<-crashed
					one.Kill()
					w.Config = file
					start(w, s, app.Deps{Owner: "two", Doer: d.Doer})
				}
				w.Until("the run ends", func() bool { return endOf(w, next) != nil })
				got := endOf(w, next)
				if in, ok := got.Data.(*events.InputRequested); ok {
					if in.Kind != events.InputUnknown || !strings.Contains(in.Prompt, `{"amount":250}`) {
						t.Errorf("asked: %+v", in)
					}
					if doubts++; len(b.all()) > 1 {
						t.Errorf("paid %v", b.all())
					}
					return
				}
				if report := got.Report(); string(report.Output) != `"paid"` {
					t.Errorf("%+v", report)
				}
				musttest.Equal(t, map[string]int{`j1/a/1/tool/1/0 {"amount":250}`: 1}, b.all())
			})
		})
	}
	if boundaries < 10 || doubts < 1 || doubts > 3 {
		t.Errorf("%d boundaries, %d of them with an unknown outcome", boundaries, doubts)
	}
}

// A change of the configured tools applies to the next run, without a restart.
//
// proves F-weakness-c-tools
func TestToolsFollowTheConfiguration(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		first, second := openBank(w, "tools.pay"), openBank(w, "tools.pay.better")
		dir := folder(t, map[string]string{"jobgraph.yaml": "version: 1\ntools:\n  pay: {subject: tools.pay}\n"})
		file := filepath.Join(dir, "jobgraph.yaml")
		w.Config = file
		r := start(w, agents(t, card(t, "tools: [pay]\n")), app.Deps{Doer: payingModel()})
		pay := func(job string) {
			o := work("agent", job, "a", 1)
			w.Issue(o)
			if got := w.Report(o); string(got.Output) != `"paid"` {
				t.Errorf("%+v", got)
			}
		}
		pay("j1")
		place(t, file, "version: 1\ntools:\n  pay: {subject: tools.pay.better}\n")
		w.Until("the tools have changed", func() bool {
			return sum(t, r.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total") > 0
		})
		pay("j2")
		musttest.Equal(t, []int{1, 1}, []int{len(first.all()), len(second.all())})
	})
}

func TestTheConfigurationOfToolsIsCheckedWithItsPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobgraph.yaml")
	text := `version: 1
mcpServers:
  files: {command: files-server, args: [--root, .], env: {A: b}, cwd: data}
  far: {type: pigeon, url: http://far.example}
tools:
  fetch: {subject: tools.fetch}
  files__x: {subject: tools.x}
policies:
  - {action: perhaps}
`
	musttest.Write(t, path, text)
	_, err := app.CheckCards([]string{path}, noEnv)
	var faults host.Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, fmt.Sprintf("%d: %s: %s", f.Line, f.Field, f.Message))
	}
	want := []string{
		`4: mcpServers.far.type: unsupported transport "pigeon"`, `6: tools.fetch: there is another tool "fetch"`,
		`7: tools.files__x: there is another tool "files__x"`, `9: policies[0].action: unknown action "perhaps"`,
	}
	musttest.Equal(t, want, got)
}

func TestCardsMayNameToolsOfTheConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobgraph.yaml")
	text := "version: 1\nmcpServers:\n  files: {command: files-server}\n  off: {command: x, disabled: true}\ntools:\n  weather: {subject: tools.weather}\n  shop: {service: orders}\n"
	musttest.Write(t, path, text)
	good := card(t, "tools: [files__*, files__read, weather, shop__find, fetch]\nrequired_tools: [files__list]\n")
	if _, err := app.CheckCards([]string{path, good}, noEnv); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"off__x", "wether", "shop", "other__x"} {
		_, err := app.CheckCards([]string{path, card(t, "tools: ["+name+"]\n")}, noEnv)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("there is no tool %q", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
