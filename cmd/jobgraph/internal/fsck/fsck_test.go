package fsck_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/fsck"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
)

// store is a bus with jobs that no service touches.
type store struct {
	t      *testing.T
	server *bustest.Server
	bus    *bus.Bus
	client *client.Client
	// payload is what the report of each job's step names.
	payload events.Ref
}

// newStore has one whole job, "whole", and one that is to be damaged, "j".
func newStore(t *testing.T) *store {
	s := &store{t: t, server: bustest.Start(t, bustest.Settings{Quiet: true})}
	s.bus = s.server.Bus("fsck")
	s.client = client.New(s.bus)
	s.job("whole")
	s.job("j")
	return s
}

func (s *store) event(e events.Event) {
	s.t.Helper()
	e.ID, e.Source = e.Job+"/"+string(e.Kind), "test"
	m, err := events.Encode(s.bus.Names(), e)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.bus.Publish(s.t.Context(), m, bus.Expect{}); err != nil {
		s.t.Fatal(err)
	}
}

// job writes the log of a job whose plan and whose first result went by reference, and the state that is its fold.
func (s *store) job(id string) {
	s.t.Helper()
	plan := &events.Plan{SubJobs: []events.SubJob{
		{ID: "a", Goal: "a", Expert: "x", Pool: "default"}, {ID: "b", Goal: "b", Expert: "x", Pool: "default", Dependencies: []string{"a"}},
	}}
	text, err := json.Marshal(plan)
	if err != nil {
		s.t.Fatal(err)
	}
	ref := s.blob(id, text)
	s.payload = s.blob(id, []byte(`"the result of `+id+`"`))
	rules := events.Rules{Version: 1, MaxSteps: 9, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast}
	s.event(events.Event{Kind: events.KindJobRequested, Job: id, Data: &events.JobRequested{Request: events.Request{ID: id, Goal: "g"}, Rules: rules}})
	s.event(events.Event{Kind: events.KindGraphCreated, Job: id, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{PlanRef: &ref}})
	s.event(events.Event{Kind: events.KindSubJobReported, Job: id, SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, OutputRef: &s.payload}})
	h, err := s.client.Logs().Fold(s.t.Context(), id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	state, err := h.Job.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	s.save(id, kept.Digest(state), state)
}

func (s *store) blob(job string, data []byte) events.Ref {
	s.t.Helper()
	ref, err := s.bus.Blobs().Put(s.t.Context(), job, data)
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s *store) save(job, digest string, state []byte) {
	s.t.Helper()
	facts, err := s.bus.Streams().Info(s.t.Context(), s.bus.Names().Log)
	if err != nil {
		s.t.Fatal(err)
	}
	value, err := kept.Compose(kept.Header{Stream: facts.Created.UTC().Format(time.RFC3339Nano), Digest: digest}, nil, state)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put(job, value)
}

func (s *store) put(job string, value []byte) {
	s.t.Helper()
	if _, err := s.bus.State().Put(s.t.Context(), job, value, 0); err != nil {
		s.t.Fatal(err)
	}
}

func (s *store) value() []byte {
	s.t.Helper()
	value, _, err := s.bus.State().GetLeader(s.t.Context(), "j")
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

func (s *store) purge(stream, subject string) {
	s.t.Helper()
	if err := s.bus.Streams().Purge(s.t.Context(), stream, subject); err != nil {
		s.t.Fatal(err)
	}
}

// changed is the state with another status, as it was saved.
func (s *store) changed() []byte {
	s.t.Helper()
	state := bytes.Replace(kept.Bare(s.value()), []byte(`"status":"RUNNING"`), []byte(`"status":"FINISHED"`), 1)
	if bytes.Equal(state, kept.Bare(s.value())) {
		s.t.Fatalf("nothing was changed in %s", state)
	}
	return state
}

func (s *store) settle() {
	s.t.Helper()
	specs, err := s.bus.Queues().EnsurePartitions(s.t.Context(), 1)
	if err != nil {
		s.t.Fatal(err)
	}
	sub, err := s.bus.Queues().Consume(s.t.Context(), specs[0])
	if err != nil {
		s.t.Fatal(err)
	}
	defer sub.Stop()
	for taken := 0; taken < 6; {
		list, err := sub.Next(s.t.Context(), 64)
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range list {
			if err := list[i].Ack(); err != nil {
				s.t.Fatal(err)
			}
		}
		taken += len(list)
	}
	for settled := uint64(0); settled < 6; { // Acknowledgements are told, not asked.
		by, err := s.bus.Queues().Settled(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		settled = by[0] // One partition has all shards.
	}
}

func TestWhatDoesNotFitIsFoundAndNothingElse(t *testing.T) {
	cases := map[string]struct {
		damage func(s *store)
		want   []fsck.Kind
	}{
		"nothing":       {func(*store) {}, nil},
		"without saved": {func(s *store) { s.purge("KV_"+s.bus.Names().State, "$KV."+s.bus.Names().State+".j") }, nil}, // A scheduler is still to see it.
		"saved lost":    {func(s *store) { s.settle(); s.purge("KV_"+s.bus.Names().State, "$KV."+s.bus.Names().State+".j") }, []fsck.Kind{fsck.StateMissing}},
		"torn":          {func(s *store) { s.put("j", s.value()[:100]) }, []fsck.Kind{fsck.StateDamaged}},
		"foreign text":  {func(s *store) { s.put("j", []byte(`{"id":"j","status":"FINISHED"}`)) }, []fsck.Kind{fsck.StateDamaged}},
		"by hand": {func(s *store) {
			s.put("j", bytes.Replace(s.value(), []byte(`"status":"RUNNING"`), []byte(`"status":"FINISHED"`), 1))
		}, []fsck.Kind{fsck.StateDamaged}},
		"forged":                  {func(s *store) { state := s.changed(); s.save("j", kept.Digest(state), state) }, []fsck.Kind{fsck.StateDiffers}},
		"no digest":               {func(s *store) { s.save("j", "", kept.Bare(s.value())) }, nil},
		"forged without a digest": {func(s *store) { s.save("j", "", s.changed()) }, []fsck.Kind{fsck.StateDiffers}},
		"log gone":                {func(s *store) { s.purge(s.bus.Names().Log, s.bus.Names().JobEvents("j")) }, []fsck.Kind{fsck.LogGone}},
		"request gone":            {func(s *store) { s.purge(s.bus.Names().Log, s.bus.Names().Event("j", events.KindJobRequested)) }, []fsck.Kind{fsck.LogShort}},
		"end gone": {func(s *store) {
			s.purge(s.bus.Names().Log, s.bus.Names().RunEvent("j", events.KindSubJobReported, "a", 1))
		}, []fsck.Kind{fsck.LogShort}},
		"middle gone": {func(s *store) {
			s.purge(s.bus.Names().Log, s.bus.Names().RunEvent("j", events.KindGraphCreated, events.PlanID, 1))
		}, []fsck.Kind{fsck.StateDiffers}},
		"payloads gone": {func(s *store) {
			if err := s.bus.Blobs().Delete(s.t.Context(), "j"); err != nil {
				s.t.Fatal(err)
			}
		}, []fsck.Kind{fsck.PayloadMissing, fsck.PayloadMissing}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			c.damage(s)
			r, err := fsck.Check(t.Context(), s.client)
			if err != nil {
				t.Fatal(err)
			}
			var got []fsck.Kind
			for _, f := range r.Findings {
				got = append(got, f.Kind)
				if f.Job != "j" || f.Fault.Message == "" || f.Fault.Hint == "" || (f.Kind == fsck.StateDiffers) != (len(f.Differences) > 0) {
					t.Errorf("finding %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" || r.Jobs != 2 {
				t.Errorf("%d jobs, findings (-want +got):\n%s", r.Jobs, diff)
			}
		})
	}
}

// The stream ends where it ended when it was copied, and the states are newer than that: so a log from a backup looks.
func TestALogThatEndsBeforeWhatStatesHaveSeenIsTold(t *testing.T) {
	s := newStore(t)
	state := bytes.Replace(kept.Bare(s.value()), []byte(`"seq":6,`), []byte(`"seq":700,`), 1)
	s.save("j", kept.Digest(state), state)
	r, err := fsck.Check(t.Context(), s.client)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Kind != fsck.LogShort {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := r.Findings[0].Fault.Message, "the log ends at sequence 6, the saved state has seen 700"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
