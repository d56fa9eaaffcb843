package loop

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// fact is the message of a fact that the state owes. Its key is the last token of the subject; the identity of the command
// also holds the kind.
func (p *Partition) fact(job string, cmd *graph.Command) (events.Message, error) {
	key := strings.TrimPrefix(cmd.Key, string(cmd.Fact)+"~")
	data := cmd.Data
	if kept, ok := data.(json.RawMessage); ok {
		data = events.Verbatim(kept)
	}
	return events.Encode(p.Names, events.Event{
		Kind: cmd.Fact, ID: factID(job, cmd.Fact, key), Job: job, Key: key, Source: source, Data: data,
	})
}

// factID is the identity of a fact about neither run nor SubJob.
func factID(job string, kind events.Kind, key string) string {
	return job + "/" + string(kind) + "/" + key
}

// runID is the identity of a fact about a run.
func runID(job string, kind events.Kind, subjob string, run int) string {
	return job + "/" + string(kind) + "/" + subjob + "/" + strconv.Itoa(run)
}

// born names this job and no other of the same id. What is published under a message id has it: within the window of
// duplicates an id that was deleted and is used again would otherwise get no work, no report and no end.
func (j *job) born() string { return j.id + "@" + strconv.FormatUint(j.state.RequestSeq, 10) }

// replanned names the reason of a graph.replaced for the metrics.
func replanned(cmd *graph.Command) string {
	raw, _ := cmd.Data.(json.RawMessage)
	var d events.GraphReplaced
	if json.Unmarshal(raw, &d) == nil && d.SubJob != "" {
		return "split"
	}
	return "replan"
}
