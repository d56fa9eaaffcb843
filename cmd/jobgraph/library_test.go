package main_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A program that imports only the client submits to a session, waits, reads result and cost, and finds its jobs again.
// proves C36
func TestAProgramSubmitsWaitsAndReadsTheResult(t *testing.T) {
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort"}
	stop, where := startUp(t, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, []string{"--model", "fake"})
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	c := musttest.Get(client.Connect(ctx, bus.Options{URL: where}))(t)
	defer c.Close()
	id := musttest.Get(c.Submit(ctx, events.Request{Goal: "Say hello", Session: "desk", User: "ann"}))(t)
	end, err := c.Wait(ctx, id)
	if err != nil || !strings.Contains(string(end.Result), "Say hello") || end.Tokens == 0 {
		t.Fatalf("%+v, %v", end, err)
	}
	result, err := c.Result(ctx, id)
	if err != nil || string(result.Value) != string(end.Result) || result.Status != events.Finished {
		t.Errorf("%+v, %v", result, err)
	}
	if err := untilSaved(ctx, c, id, events.Finished); err != nil {
		t.Error(err)
	}
	list, err := c.List(ctx, client.Query{Session: "desk"})
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("%v, %v", list, err)
	}
}
