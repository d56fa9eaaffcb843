package main_test

import (
	"encoding/json"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// awaitSession waits until the record of a session says so.
func awaitSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: awaitsession SESSION STATE")
	}
	c, ctx, done := connect(ts)
	defer done()
	seen := make(chan struct{}, 1)
	stop, err := c.Bus().Sessions().WatchKey(ctx, bus.SessionKey(args[0]), func(e bus.Entry) {
		var s struct {
			State string `json:"state"`
		}
		if json.Unmarshal(e.Value, &s) == nil && s.State == args[1] {
			select {
			case seen <- struct{}{}:
			default: // Seen before.
			}
		}
	})
	ts.Check(err)
	defer stop()
	select {
	case <-seen:
	case <-ctx.Done():
		ts.Fatalf("session %s is never %s", args[0], args[1])
	}
}
