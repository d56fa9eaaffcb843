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
	return p.encode(events.Event{
		Kind: cmd.Fact, ID: factID(job, cmd.Fact, key), Job: job, Key: key, Source: source, Data: data,
	})
}

// encode writes what a state owes. What cannot be written now never can: the job is left alone instead of tried again for ever.
func (p *Partition) encode(e events.Event) (events.Message, error) {
	m, err := events.Encode(p.Names, e)
	if err != nil {
		return m, &quarantine{events.Fault{
			Code: events.CodeInternal, Message: "an event of the job cannot be written", Cause: err.Error(),
			Hint: "please report it with `jobgraph export " + e.Job + "`",
		}}
	}
	return m, nil
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
func (j *job) born() string {
	if j.name == "" || j.nameSeq != j.state.RequestSeq {
		j.name, j.nameSeq = j.id+"@"+strconv.FormatUint(j.state.RequestSeq, 10), j.state.RequestSeq
	}
	return j.name
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
