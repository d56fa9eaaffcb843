package main_test

import (
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// awaitSession waits until the record of a session has a state.
func awaitSession(s *script, args []string) {
	s.until(fmt.Sprintf("session %s in state %s", args[0], args[1]), func(seen func()) (func(), error) {
		return s.Bus().Sessions().WatchKey(s.ctx, bus.SessionKey(args[0]), func(e bus.Entry) {
			var record struct {
				State string `json:"state"`
			}
			if json.Unmarshal(e.Value, &record) == nil && record.State == args[1] {
				seen()
			}
		})
	})
}
