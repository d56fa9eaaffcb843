package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A scheduler removes what is stored under an id only for the program that has made it.
func TestARequestProvesWhoHasMadeItsId(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	c := written(t, b, steps("job"))
	type heard struct {
		id   string
		made bool
	}
	var last heard
	stop := musttest.Get(b.Services().Serve("test", "0.0.1", nil, map[string]bus.Endpoint{
		"submit": func(ctx context.Context, body []byte) ([]byte, *events.Fault) {
			id := bus.RequestedID(body)
			last = heard{id, b.Services().Made(ctx, id)}
			return []byte(`{"job_id":"` + id + `"}`), nil
		},
	}, nil))(t)
	own, other := musttest.Get(client.NewOwnID())(t), musttest.Get(client.NewOwnID())(t)
	for name, c := range map[string]struct {
		ask  func() (string, error)
		made bool
	}{
		"no id": {func() (string, error) { return c.Submit(t.Context(), events.Request{Goal: "g"}) }, true},
		"own id": {func() (string, error) {
			return c.Submit(own.With(t.Context()), events.Request{ID: own.String(), Goal: "g"})
		}, true},
		"other's id": {func() (string, error) {
			return c.Submit(own.With(t.Context()), events.Request{ID: other.String(), Goal: "g"})
		}, false},
		"given id": {func() (string, error) {
			return c.Submit(client.OwnID{}.With(t.Context()), events.Request{ID: "given", Goal: "g"})
		}, false},
		"fork":         {func() (string, error) { return forked(c.Fork(t.Context(), "job", joblog.Fork{})) }, true},
		"fork with id": {func() (string, error) { return forked(c.Fork(t.Context(), "job", joblog.Fork{ID: "fork"})) }, false},
	} {
		id, err := c.ask()
		if want := (heard{id, c.made}); err != nil || last != want {
			t.Errorf("%s: %+v, want %+v, %v", name, last, want, err)
		}
	}
	stop()
	// Others may read the queue.
	receipt, err := c.Ask(own.With(t.Context()), events.Request{ID: own.String(), Goal: "g"})
	if err != nil || receipt.Admitted {
		t.Fatalf("%+v, %v", receipt, err)
	}
	for m, err := range b.Log().Requests(t.Context()) {
		for name := range m.Header {
			if err != nil || strings.Contains(strings.ToLower(name), "proof") {
				t.Errorf("the request in the queue has %s, %v", name, err)
			}
		}
	}
}

func forked(f *joblog.Forked, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return f.Request.ID, nil
}

// What cannot be sent is refused before anything is stored for it.
func TestARequestThatCannotBeSentStoresNothing(t *testing.T) {
	c := connect(t)
	large := strings.Repeat("x", 2<<20)
	r := events.Request{Goal: large, Inputs: map[string]json.RawMessage{"text": json.RawMessage(`"` + large + `"`)}}
	if _, err := c.Submit(t.Context(), r); err == nil {
		t.Error("it was sent")
	}
	if ids := musttest.Get(c.Bus().Blobs().IDs(t.Context()))(t); len(ids) > 0 {
		t.Errorf("payloads are stored under %s", ids)
	}
}
