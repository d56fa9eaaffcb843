package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestPeersAreAllInstancesOfAServiceUnderThePrefix(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("one")
		if err := b.Services().Peers(t.Context(), "s", nil); !errors.Is(err, bus.ErrNobody) {
			t.Fatalf("no instance answers: %v", err)
		}
		echo := func(_ context.Context, body []byte) ([]byte, *events.Fault) { return body, nil }
		serve := func(on *bus.Bus, what string) (stop func()) {
			stop, err := on.Services().Serve("s", "", map[string]string{"what": what}, map[string]bus.Endpoint{"echo": echo}, nil)
			noErr(t, err)
			return stop
		}
		defer serve(b, "a")()
		stop := serve(server.Connect("two"), "b")
		foreign, err := b.Tap("$SRV.INFO.s")
		noErr(t, err)
		defer foreign.Close()
		go func() { // Ends with the message it waits for: another program, under another prefix.
			m, err := foreign.Next(t.Context())
			if err == nil {
				_ = b.PublishCore(m.Reply, nil, []byte(`{"id":"x","metadata":{"what":"c"},"endpoints":[{"subject":"elsewhere.api.echo"}]}`))
			}
		}()
		what := func() []string {
			t.Helper()
			synctest.Wait() // Servers process subscriptions in separate goroutines.
			begun := time.Now()
			names := []string{}
			noErr(t, b.Services().Peers(t.Context(), "s", func(p bus.Peer) { names = append(names, p.Metadata["what"]) }))
			if took := time.Since(begun); took > time.Second {
				t.Errorf("asking took %s", took)
			}
			slices.Sort(names)
			return names
		}
		if got := what(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("peers are %v", got)
		}
		stop()
		if got := what(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("peers are %v when one is gone", got)
		}
	})
}

func TestEveryProcessAnswersForItself(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		server := bustest.Start(t, bustest.Settings{Quiet: true})
		b := server.Bus("one")
		gather := func() (answers []string) {
			t.Helper()
			synctest.Wait() // Servers process subscriptions in separate goroutines.
			begun := time.Now()
			err := b.Services().Gather(t.Context(), b.Names().API("who"), []byte("?"), func(answer []byte, fault *events.Fault) {
				if fault != nil {
					answer = []byte(fault.Message)
				}
				answers = append(answers, string(answer))
			})
			if len(answers) == 0 && !errors.Is(err, bus.ErrNobody) || len(answers) > 0 && err != nil {
				t.Fatal(answers, err)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("asking took %s", took)
			}
			slices.Sort(answers)
			return answers
		}
		serve := func(on *bus.Bus, name string, fault *events.Fault) (stop func()) {
			stop, err := on.Services().ServeEach("s", "", nil, map[string]bus.Endpoint{"who": func(_ context.Context, body []byte) ([]byte, *events.Fault) {
				return append([]byte(name), body...), fault
			}}, nil)
			noErr(t, err)
			return stop
		}
		if got := gather(); len(got) != 0 {
			t.Errorf("nobody answers %v", got)
		}
		defer serve(b, "a", nil)()
		stop := serve(server.Connect("two"), "b", nil)
		defer serve(server.Connect("three"), "c", &events.Fault{Code: events.CodeInvalid, Message: "no"})()
		if got := gather(); !slices.Equal(got, []string{"a?", "b?", "no"}) {
			t.Errorf("answers are %v", got)
		}
		stop()
		if got := gather(); !slices.Equal(got, []string{"a?", "no"}) {
			t.Errorf("answers are %v when one is gone", got)
		}
		ctx, end := context.WithCancel(t.Context())
		end()
		wantErr(t, b.Services().Gather(ctx, b.Names().API("who"), nil, func([]byte, *events.Fault) { t.Error("answered") }), bus.ErrUnavailable)
	})
}
