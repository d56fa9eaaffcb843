package loop

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// fact is the message of a pending fact. Its key is the last token of the subject; the identity of the command also contains the
// kind.
func (o *outbox) fact(job string, cmd *graph.Command) (events.Message, error) {
	key := strings.TrimPrefix(cmd.Key, string(cmd.Fact)+"~")
	data := cmd.Data
	if kept, ok := data.(json.RawMessage); ok {
		data = events.Verbatim(kept)
	}
	return o.encode(events.Event{
		Kind: cmd.Fact, ID: run.FactID(job, cmd.Fact, key), Job: job, Key: key, Source: source, Data: data,
	})
}

// encode encodes a pending fact. A fact that cannot be encoded now never can: the job is quarantined instead of being retried for
// ever.
func (o *outbox) encode(e events.Event) (events.Message, error) {
	m, err := events.Encode(o.Names, e)
	if err != nil {
		return m, &quarantine{events.Fault{
			Code: events.CodeInternal, Message: "an event of the job cannot be written", Cause: err.Error(),
			Hint: "please report it with `jobgraph export " + e.Job + "`",
		}}
	}
	return m, nil
}

// replanned names the reason of a graph.replaced for the metrics.
func replanned(cmd *graph.Command) string {
	raw, _ := cmd.Data.(json.RawMessage)
	var d events.GraphReplaced
	if json.Unmarshal(raw, &d) == nil && d.SubJob != "" {
		return "split"
	}
	return "replan"
}
