package loop

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
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
	id := factID(j.id, cmd.Fact, strconv.Itoa(end.Turn))
	m, err := events.Encode(p.Names, events.Event{Kind: cmd.Fact, ID: id, Job: j.id, Source: source, Data: &end})
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
	if len(tails) == 1 {
		r, err := p.result(ctx, job, &tails[0])
		if err != nil {
			return err
		}
		if r.OutputRef != nil {
			end.ResultRef = r.OutputRef
			return nil
		}
	}
	result, err := p.combine(ctx, job, tails)
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
