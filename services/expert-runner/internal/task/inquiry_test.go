package task

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

func TestAnInquiryIsWantedAsLongAsThePlanningRunThatAsked(t *testing.T) {
	asked := &Order{Work: events.Work{Job: "j", SubJob: "~plan~2~investigate-1-1", Run: 1}}
	for name, c := range map[string]struct {
		state string
		age   time.Duration
		want  run.Action
	}{
		"nothing is saved yet":                 {"", 0, run.Claim},
		"the job is gone":                      {"", time.Hour, run.Drop},
		"the run that asked is open":           {`{"status":"PLANNING","subjobs":[{"id":"~plan","status":"READY","run":2,"open":true}]}`, time.Hour, run.Claim},
		"the state is behind":                  {`{"status":"PLANNING","subjobs":[{"id":"~plan","status":"WAITING","run":1}]}`, 0, run.Claim},
		"a later run plans":                    {`{"status":"PLANNING","subjobs":[{"id":"~plan","status":"READY","run":3,"open":true}]}`, 0, run.Drop},
		"the run that asked is over":           {`{"status":"RUNNING","subjobs":[{"id":"~plan","status":"FINISHED","run":2}]}`, 0, run.Drop},
		"the job was stopped":                  {`{"status":"STOPPED","subjobs":[{"id":"~plan","status":"STOPPED","run":2,"open":true}]}`, 0, run.Drop},
		"recovered, not saved":                 {`{"status":"STOPPED","subjobs":[{"id":"~plan","status":"STOPPED","run":1}]}`, 0, run.Wait},
		"ended long ago":                       {`{"status":"FAILED","subjobs":[{"id":"~plan","status":"STOPPED","run":1}]}`, time.Hour, run.Drop},
		"the state is in another version":      {`[]`, 0, run.Claim},
		"the state is that of a chunked graph": {`{"status":"PLANNING"}`, 0, run.Claim},
	} {
		state := []byte(c.state)
		if c.state == "" {
			state = nil
		}
		if got, reason := Open(asked, state, c.age); got != c.want || got == run.Drop && reason == "" {
			t.Errorf("%s: %v, %q, want %v", name, got, reason, c.want)
		}
	}
	for id, want := range map[string]bool{"~plan~1~x": true, "~plan": false, "~plan~x~y": false, "a~1~b": false, "~plan~1": false} {
		if _, ok := (&Order{Work: events.Work{SubJob: id}}).Inquiry(); ok != want {
			t.Errorf("%s is an inquiry: %v", id, ok)
		}
	}
}
