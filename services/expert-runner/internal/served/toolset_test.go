package served_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/served"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// stage is a bus with a client of it, and a toolset of these tools.
func stage(t *testing.T, tools map[string]served.Tool) (*nats.Conn, *served.Toolset) {
	t.Helper()
	server := bustest.Start(t, bustest.Settings{})
	nc := musttest.Get(nats.Connect("", nats.InProcessServer(server)))(t)
	t.Cleanup(nc.Close)
	if faults := served.Faults("tools", tools, func(string) bool { return false }); faults != nil {
		t.Fatal(faults)
	}
	shelf := served.New(tools)
	shelf.Attach(served.OnBus(server.Connect("runner")))
	return nc, shelf
}

// serve answers on a subject from now on.
func serve(t *testing.T, nc *nats.Conn, subject string, answer func(m *nats.Msg)) {
	t.Helper()
	musttest.Get(nc.Subscribe(subject, answer))(t)
	musttest.Do(t, nc.Flush())
}

func one(t *testing.T, s *served.Toolset, name string) tool.Tool {
	t.Helper()
	tools, err := s.Open(t.Context(), []string{name})
	if err != nil || len(tools) != 1 || tools[0].Name != name {
		t.Fatalf("%+v %v", tools, err)
	}
	return tools[0]
}

func TestASubjectIsATool(t *testing.T) {
	nc, shelf := stage(t, map[string]served.Tool{
		"weather": {Subject: "tools.weather", Description: "Tells the weather.", Schema: map[string]any{"type": "object"}, Idempotent: true},
		"pay":     {Kind: "nats", Subject: "tools.pay", Timeout: 100 * time.Millisecond},
		"absent":  {Subject: "tools.absent"},
	})
	serve(t, nc, "tools.weather", func(m *nats.Msg) {
		text, _ := json.Marshal(string(m.Data) + " " + m.Header.Get("Idempotency-Key")) // A text always marshals.
		_ = m.Respond(text)
	})
	weather, pay := one(t, shelf, "weather"), one(t, shelf, "pay")
	if weather.Once || !pay.Once || weather.Description != "Tells the weather." || string(pay.Schema) != `{"type":"object"}` {
		t.Errorf("%+v %+v", weather, pay)
	}
	if got, err := weather.Call(t.Context(), tool.Call{Args: `{"at":"sea"}`, Key: "k"}); err != nil || got != `{"at":"sea"} k` {
		t.Errorf("%q %v", got, err)
	}
	if _, err := one(t, shelf, "absent").Call(t.Context(), tool.Call{}); err == nil || errors.Is(err, expert.ErrUnknown) || err.Error() != "no service offers the tool on tools.absent" {
		t.Error(err)
	}
	serve(t, nc, "tools.pay", func(*nats.Msg) {})
	if _, err := pay.Call(t.Context(), tool.Call{}); !errors.Is(err, expert.ErrUnknown) || !strings.Contains(err.Error(), "has not answered within 100ms") {
		t.Error(err)
	}
	if _, err := weather.Call(t.Context(), tool.Call{Args: strings.Repeat("x", 2<<20)}); err == nil || errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := pay.Call(ctx, tool.Call{}); !errors.Is(err, expert.ErrUnknown) {
		t.Error(err)
	}
}

// A tool that supports it is asked to cancel a call whose run was cancelled, or that took too long. A tool that does not is sent
// nothing.
func TestAToolIsToldThatNobodyWaitsForItsAnswer(t *testing.T) {
	nc, shelf := stage(t, map[string]served.Tool{
		"slow":   {Subject: "tools.slow", Cancel: true, Timeout: time.Hour},
		"late":   {Subject: "tools.late", Cancel: true, Timeout: time.Millisecond},
		"orders": {Service: "orders", Timeout: time.Millisecond},
		"deaf":   {Subject: "tools.deaf", Timeout: time.Millisecond},
	})
	told := make(chan *nats.Msg, 9)
	begun := make(chan struct{}, 9)
	for _, subject := range []string{"tools.slow", "tools.late", "tools.deaf"} {
		serve(t, nc, subject, func(*nats.Msg) { begun <- struct{}{} })
	}
	service := musttest.Get(micro.AddService(nc, micro.Config{Name: "orders", Version: "1.0.0"}))(t)
	never := micro.HandlerFunc(func(micro.Request) {})
	musttest.Do(t, service.AddEndpoint("find", never, micro.WithEndpointSubject("orders.find"), micro.WithEndpointMetadata(map[string]string{"cancel": "true"})))
	serve(t, nc, "*.*.cancel", func(m *nats.Msg) { told <- m })
	call := func(ctx context.Context, name string) {
		if _, err := one(t, shelf, name).Call(ctx, tool.Call{Key: name}); !errors.Is(err, expert.ErrUnknown) {
			t.Error(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-begun
		stop()
	}()
	call(ctx, "slow")
	call(t.Context(), "deaf")
	call(t.Context(), "late")
	call(t.Context(), "orders__find")
	bound, end := context.WithTimeout(t.Context(), musttest.Patience)
	defer end()
	var got []string
	for range 3 {
		select {
		case m := <-told:
			got = append(got, m.Subject+" "+m.Header.Get("Idempotency-Key")+" "+string(m.Data))
		case <-bound.Done():
		}
	}
	want := []string{`tools.slow.cancel slow {"reason":"cancelled"}`, `tools.late.cancel late {"reason":"timeout"}`, `orders.find.cancel orders__find {"reason":"timeout"}`}
	musttest.Equal(t, want, got)
}

func TestTheEndpointsOfAServiceAreTools(t *testing.T) {
	nc, shelf := stage(t, map[string]served.Tool{"shop": {Service: "orders"}})
	if _, err := shelf.Open(t.Context(), []string{"shop__*"}); faultOf(err).Code != events.CodeUnavailable {
		t.Error(err)
	}
	add := func(version, description string) micro.Service {
		service := musttest.Get(micro.AddService(nc, micro.Config{Name: "orders", Version: version}))(t)
		handler := micro.HandlerFunc(func(r micro.Request) { _ = r.RespondJSON(map[string]string{"order": string(r.Data())}) })
		musttest.Do(t, service.AddEndpoint("find", handler, micro.WithEndpointSubject("orders.find"), micro.WithEndpointMetadata(map[string]string{
			"description": description, "schema": `{"type":"object","required":["id"]}`, "idempotent": "true",
		})))
		refuse := micro.HandlerFunc(func(r micro.Request) { _ = r.Error("conflict", "it is shipped", nil) })
		musttest.Do(t, service.AddEndpoint("cancel", refuse, micro.WithEndpointSubject("orders.cancel")))
		musttest.Do(t, nc.Flush())
		return service
	}
	first := add("1.0.0", "Finds an order.")
	tools, err := shelf.Open(t.Context(), []string{"shop__*"})
	if err != nil || len(tools) != 2 || !shelf.Owns("shop__x") || shelf.Owns("shop") {
		t.Fatalf("%+v %v", tools, err)
	}
	cancel, find := tools[0], tools[1]
	if find.Name != "shop__find" || find.Once || !cancel.Once || find.Description != "Finds an order." || string(find.Schema) != `{"type":"object","required":["id"]}` {
		t.Errorf("%+v %+v", find, cancel)
	}
	if got, err := find.Call(t.Context(), tool.Call{Args: `{"id":7}`}); err != nil || got != `{"order":"{\"id\":7}"}` {
		t.Errorf("%q %v", got, err)
	}
	if _, err := cancel.Call(t.Context(), tool.Call{}); err == nil || errors.Is(err, expert.ErrUnknown) || !strings.Contains(err.Error(), "it is shipped") {
		t.Error(err)
	}
	if _, err := shelf.Open(t.Context(), []string{"shop__lose"}); faultOf(err).Code != events.CodeNotFound {
		t.Error(err)
	}
	musttest.Do(t, first.Stop())
	add("1.0.1", "Finds any order of anybody.")
	if now := one(t, shelf, "shop__find"); now.Digest == find.Digest || find.Digest == "" {
		t.Error("what a service says has changed, and its digest has not")
	}
	if now := one(t, shelf, "shop__cancel"); now.Digest != cancel.Digest {
		t.Error("a digest has changed by itself")
	}
}

func faultOf(err error) *events.Fault {
	var fault *events.Fault
	if errors.As(err, &fault) {
		return fault
	}
	return &events.Fault{}
}

func TestToolsOfTheConfigurationAreChecked(t *testing.T) {
	got := map[string]string{}
	for _, f := range served.Faults("tools", map[string]served.Tool{
		"a b":   {Subject: "x"},
		"fetch": {Subject: "x"},
		"c":     {Kind: "grpc", Subject: "x"},
		"d":     {},
		"e":     {Subject: "x", Service: "y"},
		"f":     {Subject: "tools.>"},
		"g":     {Service: "a.b"},
		"h":     {Service: "y", Description: "z"},
		"i":     {Subject: "x", Schema: map[string]any{"type": "nothing"}},
		"j":     {Subject: "x", Timeout: -1},
		"ok":    {Subject: "x.y"},
	}, func(name string) bool { return name == "fetch" }) {
		got[f.Field], _, _ = strings.Cut(f.Message, ": ")
	}
	want := map[string]string{
		"tools.a b": `"a b" cannot be the name of a tool`, "tools.fetch": `there is another tool "fetch"`, "tools.c.kind": `unknown kind "grpc"`,
		"tools.d.subject": "a tool is a subject or a service", "tools.e.subject": "a tool is a subject or a service",
		"tools.f.subject": `"tools.>" is no subject to ask on`, "tools.g.service": `"a.b" is no name of a service`,
		"tools.h.service": "the endpoints of a service say themselves what they are", "tools.i.schema": "read schema", "tools.j.timeout": "must not be negative",
	}
	musttest.Equal(t, want, got)
}
