package bus_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves C-weakness-9-status
func TestServiceAnswersFaultsAndPanics(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{MaxPayload: 64 << 10}).Bus("test")
	rejection := events.Rejection{JobID: "j1", Faults: events.Faults{{Code: events.CodeMissing, Message: "two\nlines"}, {Code: events.CodeInvalid, Message: "b"}}}
	stop, err := b.Services().Serve("jobgraph", "1.2.3", nil, map[string]bus.Endpoint{
		"echo": func(_ context.Context, body []byte) ([]byte, *events.Fault) { return body, nil },
		"get": func(context.Context, []byte) ([]byte, *events.Fault) {
			return nil, &events.Fault{Code: events.CodeNotFound, Message: "no such job", Hint: "list"}
		},
		"submit": func(context.Context, []byte) ([]byte, *events.Fault) {
			body, err := json.Marshal(rejection)
			noErr(t, err)
			return body, &rejection.Faults[0]
		},
		"bug":  func(context.Context, []byte) ([]byte, *events.Fault) { panic("bug") },
		"huge": func(context.Context, []byte) ([]byte, *events.Fault) { return make([]byte, 100<<10), nil },
	}, nil)
	noErr(t, err)
	ask := func(verb, body string) ([]byte, *events.Fault) {
		t.Helper()
		answer, fault, err := b.Services().Request(t.Context(), b.Names().API(verb), []byte(body))
		noErr(t, err)
		return answer, fault
	}
	if answer, fault := ask("echo", "hello"); string(answer) != "hello" || fault != nil {
		t.Fatalf("echo gives %q, %v", answer, fault)
	}
	_, fault := ask("get", "")
	if diff := cmp.Diff(&events.Fault{Code: events.CodeNotFound, Message: "no such job", Hint: "list"}, fault); diff != "" {
		t.Fatal(diff)
	}
	answer, fault := ask("submit", "")
	var got events.Rejection
	noErr(t, json.Unmarshal(answer, &got))
	if diff := cmp.Diff(rejection, got); diff != "" || fault.Code != events.CodeMissing || fault.Message != "two lines" {
		t.Fatalf("submit gives %v, %s", fault, diff)
	}
	if _, fault = ask("bug", ""); fault == nil || fault.Code != events.CodeInternal {
		t.Fatalf("a panic gives %v", fault)
	}
	if _, fault = ask("huge", ""); fault == nil || fault.Code != events.CodeTooLarge {
		t.Fatalf("a large answer gives %v", fault)
	}
	stop()
	_, _, err = b.Services().Request(t.Context(), b.Names().API("echo"), nil)
	wantErr(t, err, bus.ErrUnavailable)
}

func TestSlowRequestHoldsUpNoOther(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	entered, release := make(chan struct{}), make(chan struct{})
	stop, err := b.Services().Serve("jobgraph", "1.2.3", nil, map[string]bus.Endpoint{
		"stop": func(ctx context.Context, body []byte) ([]byte, *events.Fault) {
			if string(body) == "slow" {
				close(entered)
				<-release
			}
			return []byte("done"), nil
		},
	}, nil)
	noErr(t, err)
	slow := make(chan error, 1)
	go func() {
		_, _, err := b.Services().Request(t.Context(), b.Names().API("stop"), []byte("slow"))
		slow <- err
	}()
	<-entered
	_, _, err = b.Services().Request(t.Context(), b.Names().API("stop"), nil)
	noErr(t, err)
	close(release)
	noErr(t, <-slow)
	stop()
}

// However many requests of a verb hang, other verbs are answered.
func TestOneVerbHoldsUpNoOther(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	hang := make(chan struct{})
	stop := musttest.Get(b.Services().Serve("s", "", nil, map[string]bus.Endpoint{
		"slow": func(context.Context, []byte) ([]byte, *events.Fault) { <-hang; return nil, nil },
		"get":  func(context.Context, []byte) ([]byte, *events.Fault) { return []byte("x"), nil },
	}, nil))(t)
	defer stop()
	defer close(hang)
	for range 100 {
		noErr(t, b.PublishCore(b.Names().API("slow"), nil, nil))
	}
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	if answer, fault, err := b.Services().Request(ctx, b.Names().API("get"), nil); err != nil || fault != nil || string(answer) != "x" {
		t.Errorf("%s %v %v", answer, fault, err)
	}
}

func TestCoreMessagesReachWhoListensNow(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	got := make(chan string, 4)
	stop, err := b.SubscribeCore(b.Names().Cancel("j1", ">"), func(subject string, body []byte) { got <- subject + " " + string(body) })
	noErr(t, err)
	noErr(t, b.PublishCore(b.Names().Cancel("j1", "a"), nil, []byte("x")))
	if s := <-got; s != "jobs.cancel.j1.a x" {
		t.Fatalf("heard %q", s)
	}
	stop()
	noErr(t, b.PublishCore(b.Names().Cancel("j1", "a"), nil, []byte("y")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	noErr(t, b.Flush(ctx))
	if len(got) != 0 {
		t.Fatal("heard something after the stop")
	}
}

// A service does not answer on a subject of a stream, even if the caller names it as the reply subject.
func TestAServiceAnswersOnNoSubjectOfOurs(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	stop, err := b.Services().ServeEach("jobgraph", "1.2.3", nil, map[string]bus.Endpoint{
		"echo": func(_ context.Context, body []byte) ([]byte, *events.Fault) { return body, nil },
	}, nil)
	noErr(t, err)
	leave, err := b.Services().Keep()
	noErr(t, err)
	noErr(t, b.Flush(t.Context()))
	nc, err := nats.Connect("", nats.InProcessServer(server))
	noErr(t, err)
	defer nc.Close()
	n := b.Names()
	for _, reply := range []string{n.Event("j1", events.KindJobFinished), n.Request(), "$KV." + n.State + ".j1", "$JS.API.STREAM.PURGE." + n.Log} {
		for _, subject := range []string{n.API("echo"), n.Card("p", "x")} {
			noErr(t, nc.PublishRequest(subject, reply, []byte(`{"goal":"g"}`)))
		}
	}
	for subject, want := range map[string]string{n.API("echo"): "x", n.Card("p", "x"): `{"refused":"refused",`} {
		m, err := nc.Request(subject, []byte("x"), 10*time.Second) // After those before it.
		noErr(t, err)
		if !strings.HasPrefix(string(m.Data), want) {
			t.Errorf("%s answers %s", subject, m.Data)
		}
	}
	stop()
	leave()
	for _, stream := range []string{n.Log, n.Intake, "KV_" + n.State} {
		facts, err := b.Streams().Info(t.Context(), stream)
		noErr(t, err)
		if facts.LastSeq != 0 {
			t.Errorf("%s has %d messages", stream, facts.LastSeq)
		}
	}
}

// Where no signature is required, every sender has all rights, except those that the request gives up.
func TestARequestHasTheRightsThatItWasLeftWhereNoSignatureIsRequired(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	stop, err := b.Services().Serve("jobgraph", "1.2.3", nil, map[string]bus.Endpoint{
		"me": func(ctx context.Context, _ []byte) ([]byte, *events.Fault) {
			who, asked, err := b.Services().Signer(ctx)
			noErr(t, err)
			if asked != (who != nil) {
				t.Errorf("asked %t for %+v", asked, who)
			}
			if who == nil {
				return []byte("everyone"), nil
			}
			return []byte("[" + strings.Join(who.Rights, ",") + "]"), nil
		},
	}, nil)
	noErr(t, err)
	defer stop()
	for want, ctx := range map[string]context.Context{
		"everyone": t.Context(), "[]": bus.WithRights(t.Context()), "[submitter,approver]": bus.WithRights(t.Context(), "submitter", "approver"),
	} {
		if got, fault, err := b.Services().Request(ctx, b.Names().API("me"), nil); err != nil || fault != nil || string(got) != want {
			t.Errorf("%s, %v, %v, want %s", got, fault, err, want)
		}
	}
}
