package loop

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// end publishes the end of a job with its result, if no control event has arrived since.
func (s *sending) end(ctx context.Context, j *job, cmd *graph.Command) (Ack, error) {
	given, ok := cmd.Data.(*events.JobEnded)
	if !ok {
		return nil, fmt.Errorf("end of job: payload %T", cmd.Data)
	}
	end := *given
	if err := s.builder.fillResult(ctx, j, cmd.Tails, &end); err != nil {
		return nil, err
	}
	id := run.FactID(j.born(), cmd.Fact, strconv.Itoa(end.Turn))
	m, err := s.encode(events.Event{Kind: cmd.Fact, ID: id, Job: j.id, Source: source, Data: &end})
	if err != nil {
		return nil, err
	}
	m.Header[events.HeaderMsgID] = []string{id}
	return s.publish(m, Expect{Last: cmd.Expect, Subject: s.Names.Control(j.id)})
}
