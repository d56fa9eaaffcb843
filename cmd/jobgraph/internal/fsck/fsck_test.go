package fsck_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/fsck"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// store is a bus with jobs and without services.
type store struct {
	*servicetest.Env
	client *client.Client
	// payload is the payload that the report of each job's step refers to.
	payload events.Ref
}

// newStore has one intact job, "whole", and one to be damaged, "j".
func newStore(t *testing.T) *store {
	e := servicetest.New(t)
	s := &store{Env: e, client: client.New(e.Bus)}
	s.job("whole")
	s.job("j")
	return s
}

// job writes the log of a job whose plan and first result are stored as blobs, and the state that is its fold.
func (s *store) job(id string) {
	s.Helper()
	plan := &events.Plan{SubJobs: []events.SubJob{
		{ID: "a", Goal: "a", Expert: "x", Pool: "default"}, {ID: "b", Goal: "b", Expert: "x", Pool: "default", Dependencies: []string{"a"}},
	}}
	ref := s.blob(id, s.JSON(plan))
	s.payload = s.blob(id, []byte(`"the result of `+id+`"`))
	rules := events.Rules{Version: 1, MaxSteps: 9, MaxPlanRounds: 1, Finalize: "tails", FailurePolicy: events.FailFast}
	s.Tell(events.Event{Kind: events.KindJobRequested, Job: id, Data: &events.JobRequested{Request: events.Request{ID: id, Goal: "g"}, Rules: rules}})
	s.Tell(events.Event{Kind: events.KindGraphCreated, Job: id, SubJob: events.PlanID, Run: 1, Data: &events.GraphCreated{PlanRef: &ref}})
	s.Tell(events.Event{Kind: events.KindSubJobReported, Job: id, SubJob: "a", Run: 1, Data: &events.SubJobReported{Outcome: events.Success, OutputRef: &s.payload}})
	h := musttest.Get(s.client.Logs().Fold(s.Context(), id, 0))(s)
	state := musttest.Get(h.Job.MarshalJSON())(s)
	s.save(id, kept.Digest(state), state)
}

func (s *store) blob(job string, data []byte) events.Ref {
	s.Helper()
	return musttest.Get(s.Bus.Blobs().Put(s.Context(), job, data))(s)
}

func (s *store) save(job, digest string, state []byte) {
	s.Helper()
	facts := musttest.Get(s.Bus.Streams().Info(s.Context(), s.Names.Log))(s)
	value := musttest.Get(kept.Compose(kept.Header{Stream: facts.Created.UTC().Format(time.RFC3339Nano), Digest: digest}, nil, state))(s)
	s.put(job, value)
}

func (s *store) put(job string, value []byte) {
	s.Helper()
	musttest.Get(s.Bus.State().Put(s.Context(), job, value, 0))(s)
}

func (s *store) value() []byte {
	s.Helper()
	value, _, err := s.Bus.State().GetLeader(s.Context(), "j")
	if err != nil {
		s.Fatal(err)
	}
	return value
}

func (s *store) purge(stream, subject string) {
	s.Helper()
	musttest.Do(s, s.Bus.Streams().Purge(s.Context(), stream, subject))
}

// changed returns the state with another status, as it was saved.
func (s *store) changed() []byte {
	s.Helper()
	state := bytes.Replace(kept.Bare(s.value()), []byte(`"status":"RUNNING"`), []byte(`"status":"FINISHED"`), 1)
	if bytes.Equal(state, kept.Bare(s.value())) {
		s.Fatalf("nothing was changed in %s", state)
	}
	return state
}

func (s *store) settle() {
	s.Helper()
	specs := musttest.Get(s.Bus.Queues().EnsurePartitions(s.Context(), 1))(s)
	sub := musttest.Get(s.Bus.Queues().Consume(s.Context(), specs[0]))(s)
	defer sub.Stop()
	for taken := 0; taken < 6; {
		list := musttest.Get(sub.Next(s.Context(), 64))(s)
		for i := range list {
			musttest.Do(s, list[i].Ack())
		}
		taken += len(list)
	}
	for settled := uint64(0); settled < 6; { // Acknowledgements are sent without waiting.
		by := musttest.Get(s.Bus.Queues().Settled(s.Context()))(s)
		settled = by[0] // One partition has all shards.
	}
}

func TestWhatDoesNotFitIsFoundAndNothingElse(t *testing.T) {
	cases := map[string]struct {
		damage func(s *store)
		want   []fsck.Kind
	}{
		"nothing":       {func(*store) {}, nil},
		"without saved": {func(s *store) { s.purge("KV_"+s.Names.State, "$KV."+s.Names.State+".j") }, nil}, // A scheduler has not read it yet.
		"saved lost":    {func(s *store) { s.settle(); s.purge("KV_"+s.Names.State, "$KV."+s.Names.State+".j") }, []fsck.Kind{fsck.StateMissing}},
		"torn":          {func(s *store) { s.put("j", s.value()[:100]) }, []fsck.Kind{fsck.StateDamaged}},
		"foreign text":  {func(s *store) { s.put("j", []byte(`{"id":"j","status":"FINISHED"}`)) }, []fsck.Kind{fsck.StateDamaged}},
		"by hand": {func(s *store) {
			s.put("j", bytes.Replace(s.value(), []byte(`"status":"RUNNING"`), []byte(`"status":"FINISHED"`), 1))
		}, []fsck.Kind{fsck.StateDamaged}},
		"forged":                  {func(s *store) { state := s.changed(); s.save("j", kept.Digest(state), state) }, []fsck.Kind{fsck.StateDiffers}},
		"no digest":               {func(s *store) { s.save("j", "", kept.Bare(s.value())) }, nil},
		"forged without a digest": {func(s *store) { s.save("j", "", s.changed()) }, []fsck.Kind{fsck.StateDiffers}},
		"log gone":                {func(s *store) { s.purge(s.Names.Log, s.Names.JobEvents("j")) }, []fsck.Kind{fsck.LogGone}},
		"request gone":            {func(s *store) { s.purge(s.Names.Log, s.Names.Event("j", events.KindJobRequested)) }, []fsck.Kind{fsck.LogShort}},
		"end gone": {func(s *store) {
			s.purge(s.Names.Log, s.Names.RunEvent("j", events.KindSubJobReported, "a", 1))
		}, []fsck.Kind{fsck.LogShort}},
		"middle gone": {func(s *store) {
			s.purge(s.Names.Log, s.Names.RunEvent("j", events.KindGraphCreated, events.PlanID, 1))
		}, []fsck.Kind{fsck.StateDiffers}},
		"payloads gone": {func(s *store) {
			musttest.Do(s, s.Bus.Blobs().Delete(s.Context(), "j"))
		}, []fsck.Kind{fsck.PayloadMissing, fsck.PayloadMissing}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			c.damage(s)
			r := musttest.Get(fsck.Check(t.Context(), s.client, time.Now()))(t)
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

// The stream ends where it ended when it was copied, and the states are newer, as after restoring a log from a backup.
func TestALogThatEndsBeforeWhatStatesHaveSeenIsTold(t *testing.T) {
	s := newStore(t)
	state := bytes.Replace(kept.Bare(s.value()), []byte(`"seq":6,`), []byte(`"seq":700,`), 1)
	s.save("j", kept.Digest(state), state)
	r, err := fsck.Check(t.Context(), s.client, time.Now())
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Kind != fsck.LogShort {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := r.Findings[0].Fault.Message, "the log ends at sequence 6, the saved state has seen 700"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A file is stored before the request of its job. It is no problem until it has been there for a day.
func TestPayloadsWithoutAJobAreCountedAndFoundAfterADay(t *testing.T) {
	s := newStore(t)
	begun := time.Now()
	check := func(after time.Duration, want *fsck.Unused, found ...string) {
		t.Helper()
		r := musttest.Get(fsck.Check(t.Context(), s.client, begun.Add(after)))(t)
		var got []string
		for _, f := range r.Findings {
			if f.Kind != fsck.PayloadUnused || !strings.Contains(f.Fault.Hint, "`jobgraph delete "+f.Job+"`") {
				t.Errorf("finding %+v", f)
			}
			got = append(got, f.Job)
		}
		if r.Unused != nil && r.Unused.Oldest.Before(begun.Add(-time.Minute)) {
			t.Errorf("the oldest is of %s, before %s", r.Unused.Oldest, begun)
		}
		musttest.Equal(t, want, r.Unused, cmpopts.IgnoreFields(fsck.Unused{}, "Oldest"))
		musttest.Equal(t, found, got)
	}
	s.listed("listed")
	check(90*time.Hour, nil)
	s.blob("left", make([]byte, 200<<10))
	s.blob("left", []byte("payload"))
	s.blob("waits", []byte("payload"))
	s.Submit(events.Request{ID: "waits", Goal: "g"})
	s.blob("again", nil)
	want := &fsck.Unused{IDs: 2, Payloads: 3, Bytes: 200<<10 + 7}
	check(0, want)
	check(23*time.Hour, want)
	check(25*time.Hour, want, "again", "left")
	musttest.Do(t, s.client.Delete(t.Context(), "left"))
	check(25*time.Hour, &fsck.Unused{IDs: 1, Payloads: 1}, "again")
	musttest.Do(t, s.client.Delete(t.Context(), "again"))
	check(25*time.Hour, nil)
}

// listed stores a payload of a job that a session lists.
func (s *store) listed(id string) {
	s.Helper()
	s.blob(id, []byte("payload"))
	musttest.Get(s.Bus.Sessions().Put(s.Context(), "s1", []byte(`{"id":"s1","jobs":[{"id":"`+id+`"}]}`), 0))(s)
}

// More files may be stored as long as the request has not been sent.
func TestPayloadsAreAsOldAsTheNewestUnderTheirID(t *testing.T) {
	s := newStore(t)
	blobs := s.client.Bus().Blobs()
	var x bus.Extent
	for n := 0; n == 0 || x.First.Equal(x.Last); n++ { // The server's clock for messages is coarse.
		musttest.Get(blobs.Put(t.Context(), "later", []byte(strconv.Itoa(n))))(t)
		x = musttest.Get(blobs.Extent(t.Context(), "later"))(t)
	}
	for _, c := range []struct {
		from  time.Time
		found int
	}{{x.First, 0}, {x.Last, 1}} {
		r := musttest.Get(fsck.Check(t.Context(), s.client, c.from.Add(24*time.Hour)))(t)
		if len(r.Findings) != c.found {
			t.Errorf("a day after %s: %+v", c.from, r.Findings)
		}
	}
}
