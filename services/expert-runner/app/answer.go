package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// mostHeld is how many runs an answer lists by default.
const mostHeld = 500

// answer serves jobs.api.runs and jobs.api.runners until the process has returned its work: runs are also listed while it drains.
func (r *runner) answer() error {
	stop, err := r.bus.Services().ServeEach(string(release.Runner), r.process.Build.Version, nil, map[string]bus.Endpoint{"runs": r.runs, "runners": r.itself}, verb.Metadata)
	if err != nil {
		return err
	}
	r.process.Cleanup("answers", 0, func(context.Context) error { stop(); return nil })
	return nil
}

// runs answers with the runs that this runner has accepted.
func (r *runner) runs(_ context.Context, body []byte) ([]byte, *events.Fault) {
	var q verb.RunQuery
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); len(bytes.TrimSpace(body)) > 0 && err != nil {
		return nil, &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: plainjson.Misfit(err), Hint: `send {}, {"id":"…"} for the runs of a job, or {"limit":…}`}
	}
	if q.Limit < 0 {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "limit", Message: "is negative", Hint: "leave it out for 500"}
	}
	held := r.loop.Held(q.ID)
	list := verb.RunList{Runs: []verb.HeldRun{}, Total: len(held)}
	for _, h := range held[:min(len(held), cmp.Or(q.Limit, mostHeld))] {
		list.Runs = append(list.Runs, verb.HeldRun{
			Runner: r.owner, JobID: h.Job, SubJob: h.SubJob, Run: h.Run, Attempt: h.Attempt, Expert: h.Expert, Pool: h.Pool, Since: h.Since.UTC(), LeaseUntil: h.Until,
		})
	}
	return r.written(list)
}

// itself answers with a description of this runner.
func (r *runner) itself(context.Context, []byte) ([]byte, *events.Fault) {
	line := verb.RunnerLine{Runner: r.owner, Version: r.process.Build.Version, InHand: r.loop.Busy(), Concurrency: r.loop.Concurrency, Experts: []verb.RunnerExpert{}}
	experts := r.loop.Offered()
	line.Pools = poolsOf(experts, r.settings.Pools)
	for _, x := range experts {
		e := verb.RunnerExpert{ID: x.Card.ID, Name: x.Card.Name, Kind: x.Card.Kind, Pool: cmp.Or(x.Card.Pool, events.DefaultPool), Elsewhere: x.Runner == nil, Tools: x.Tools}
		for _, l := range x.Lacks {
			e.Lacks = append(e.Lacks, verb.LackedTool{Tool: l.Tool, Reason: l.Reason})
		}
		line.Experts = append(line.Experts, e)
	}
	return r.written(verb.RunnerList{Runners: []verb.RunnerLine{line}})
}

// written encodes an answer as JSON, with secrets redacted: parts of cards are written by remote agents.
func (r *runner) written(answer any) ([]byte, *events.Fault) {
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, &events.Fault{Code: events.CodeInternal, Message: "the answer cannot be written as JSON", Cause: err.Error()}
	}
	return r.process.Secrets.Redactor().JSON(body), nil
}
