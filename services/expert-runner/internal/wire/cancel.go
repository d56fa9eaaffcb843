package wire

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// OnCancel calls f for each cancellation of a job, or of one SubJob of it, until stop. A body that cannot be read counts as
// one without a run: the sender wanted something to end.
func OnCancel(b *bus.Bus, f func(job, subjob string, run int, reason string)) (stop func(), err error) {
	prefix := b.Names().Cancel("", "")
	return b.SubscribeCore(prefix+">", func(subject string, body []byte) {
		job, subjob, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		var c struct {
			Run    int    `json:"run"`
			Reason string `json:"reason"`
		}
		if json.Unmarshal(body, &c) != nil {
			c.Run = 0
		}
		f(job, subjob, c.Run, c.Reason)
	})
}
