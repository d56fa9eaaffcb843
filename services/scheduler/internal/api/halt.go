package api

import (
	"context"
	"crypto/rand"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// halt ends the work of a quarantined job: the request is recorded for the time when the job is resumed, work that no worker has
// taken is purged, and running workers are notified at once. The fault says that the job itself stays quarantined.
func (v *API) halt(ctx context.Context, r *verb.Ending, kind events.Kind, data any) (any, error) {
	if err := v.record(ctx, r.ID, kind, data); err != nil {
		return nil, err
	}
	subjob, work := "", v.bus.Names().JobWork(r.ID)
	if r.Only && events.ValidToken(r.SubJob) {
		subjob, work = r.SubJob, work[:len(work)-1]+r.SubJob+".>"
	}
	if err := v.bus.Streams().Purge(ctx, v.bus.Names().Work, work); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]string{"reason": r.Reason})
	if err == nil {
		err = v.bus.PublishCore(v.bus.Names().Cancel(r.ID, subjob), nil, body)
	}
	if err != nil {
		return nil, err
	}
	return nil, &events.Fault{
		Code: events.CodeConflict, Field: "id", Message: "job " + r.ID + " is in quarantine: its work was ended, the job itself stays as it is",
		Hint: "jobgraph dlq show " + r.ID,
	}
}

// record publishes a control event of a quarantined job; its saved state cannot say whether the event has an effect.
func (v *API) record(ctx context.Context, job string, kind events.Kind, data any) error {
	m, err := events.Encode(v.bus.Names(), events.Event{Kind: kind, ID: run.FactID(job, kind, rand.Text()), Job: job, Source: source, Data: data})
	if err == nil {
		_, err = v.bus.Publish(ctx, m, bus.Expect{})
	}
	return err
}
