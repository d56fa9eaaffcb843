package loop

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// end publishes the terminal fact with the job's result, provided that nobody has asked for anything since.
func (p *Partition) end(ctx context.Context, j *job, cmd *graph.Command) (Ack, error) {
	given, ok := cmd.Data.(*events.JobEnded)
	if !ok {
		return nil, fmt.Errorf("end of job: payload %T", cmd.Data)
	}
	end := *given
	if err := p.fillResult(ctx, j.id, cmd.Tails, &end); err != nil {
		return nil, err
	}
	id := run.FactID(j.born(), cmd.Fact, strconv.Itoa(end.Turn))
	m, err := p.encode(events.Event{Kind: cmd.Fact, ID: id, Job: j.id, Source: source, Data: &end})
	if err != nil {
		return nil, err
	}
	m.Header[events.HeaderMsgID] = []string{id}
	return p.publishAs(m, Expect{Last: cmd.Expect, Subject: p.Names.Control(j.id)})
}

// fillResult puts the result into the fact, by reference when it is large. A single large payload keeps its reference.
func (p *Partition) fillResult(ctx context.Context, job string, tails []graph.Input, end *events.JobEnded) error {
	if len(tails) == 0 {
		return nil
	}
	results := make([]events.Result, len(tails))
	var err error
	for i := range tails {
		if results[i], err = p.result(ctx, job, &tails[i]); err != nil {
			return err
		}
	}
	end.Artifacts = belongings(tails, results)
	if len(tails) == 1 && results[0].OutputRef != nil {
		end.ResultRef = results[0].OutputRef
		return nil
	}
	result, err := p.combine(ctx, job, tails, results)
	if err != nil {
		return fmt.Errorf("make result: %w", err)
	}
	if len(result) <= events.MaxInline {
		end.Result = result
		return nil
	}
	end.ResultRef, err = p.refer(ctx, job, result, false)
	return err
}

// mostBelongings bounds the artifacts that the end of a job names; the reports name all.
const mostBelongings = 256

// belongings are the artifacts of the results that make the job's, each under the SubJob that has made it.
func belongings(tails []graph.Input, results []events.Result) []events.Ref {
	var list []events.Ref
	for i := range tails {
		for _, ref := range results[i].Artifacts {
			if len(list) == mostBelongings {
				return list
			}
			if tails[i].SubJob != events.FinalID {
				ref.Name = tails[i].SubJob + "/" + ref.Name // The planner has named those that it hands on.
			}
			list = append(list, ref)
		}
	}
	return list
}
