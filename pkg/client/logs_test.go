package client_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// written plays a job in memory, to its end or its last event, and writes its log to a bus.
func written(t *testing.T, b *bus.Bus, s jobtest.Script) *client.Client {
	t.Helper()
	r, err := s.Run()
	if err != nil && !errors.Is(err, jobtest.ErrEndless) {
		t.Fatal(err)
	}
	for i := range r.Events {
		m, err := events.Encode(b.Names(), r.Events[i])
		if err == nil {
			_, err = b.Publish(t.Context(), m, bus.Expect{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return client.New(b)
}

// steps is a job of three SubJobs in a row, each of which returns its goal.
func steps(id string) jobtest.Script {
	return jobtest.Script{
		Request: events.Request{ID: id, Goal: "report"},
		Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "read", Goal: "read", Expert: "e"},
			{ID: "write", Goal: "write", Expert: "e", Dependencies: []string{"read"}},
			{ID: "send", Goal: "send", Expert: "e", Dependencies: []string{"write"}},
		}},
		Default: func(w events.Work) events.SubJobReported { return jobtest.Succeed(w.Goal) },
	}
}

func TestAForkIsAskedForWithTheResultsAndThePayloadsThatItKeeps(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	file := musttest.Get(b.Blobs().Put(t.Context(), "job", []byte("a file")))(t)
	s := steps("job")
	s.Request.Attachments = []events.Ref{file}
	c := written(t, b, s)
	made, err := c.Fork(t.Context(), "job", joblog.Fork{ID: "fork", Before: "write", Prompt: "write better", Model: "large"})
	if err != nil || made.Kept != 1 || made.Total != 3 || made.From != "job" {
		t.Fatalf("%+v, %v", made, err)
	}
	var requests []events.Request
	for m, err := range b.Log().Requests(t.Context()) {
		var r events.Request
		if err == nil {
			err = json.Unmarshal(m.Body, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	if len(requests) != 1 || requests[0].ID != "fork" || requests[0].Models["expert"] != "large" || requests[0].Labels["forked_from"] != "job" {
		t.Fatalf("%+v", requests)
	}
	var p events.Plan
	if err := json.Unmarshal(requests[0].Plan, &p); err != nil || string(p.SubJobs[0].ExecutionRes) != `"read"` || p.SubJobs[1].Goal != "write better" || p.SubJobs[1].Done() {
		t.Errorf("%s, %v", requests[0].Plan, err)
	}
	if data, err := c.Blob(t.Context(), "fork", file); string(data) != "a file" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := c.Fork(t.Context(), "job", joblog.Fork{Before: "nothing"}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if _, err := c.Fork(t.Context(), "missing", joblog.Fork{}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	var fault *events.Fault
	if _, err := c.Fork(t.Context(), "job", joblog.Fork{Model: "large"}); !errors.As(err, &fault) || errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

func TestAForkOfAnEarlierMomentKeepsOnlyWhatWasFinishedThen(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	c := written(t, b, steps("job"))
	whole := musttest.Get(c.Logs().Fold(t.Context(), "job", 0))(t)
	log := musttest.Get(c.Logs().Fold(t.Context(), "job", whole.Node("read").ResultSeq))(t)
	made, err := c.Logs().Fork(t.Context(), log, joblog.Fork{})
	if err != nil || made.Kept != 1 || made.At != log.Last() || made.Request.ID == "" {
		t.Errorf("%+v, %v", made, err)
	}
}

func TestTheResultOfAJobIsThatOfItsLastEnd(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	c := written(t, b, steps("job"))
	got, err := c.Result(t.Context(), "job")
	if err != nil || got.Status != events.Finished || string(got.Value) != `"send"` || got.Partial {
		t.Errorf("%+v, %v", got, err)
	}
	s := steps("failed")
	s.Default = func(w events.Work) events.SubJobReported {
		if w.SubJob == "send" {
			return jobtest.Fail("no post")
		}
		return jobtest.Succeed(w.Goal)
	}
	written(t, b, s)
	if got, err := c.Result(t.Context(), "failed"); err != nil || got.Status != events.Failed || got.Error == nil || string(got.Value) != `"write"` || !got.Partial {
		t.Errorf("%+v, %v", got, err)
	}
	large := musttest.Get(b.Blobs().Put(t.Context(), "large", []byte("no JSON")))(t)
	for _, test := range []struct {
		ref     *events.Ref
		want    string
		partial bool
		err     error
	}{
		{&large, `"no JSON"`, true, nil},
		{&events.Ref{Digest: strings.Repeat("0", 64), Size: 1}, "", false, client.ErrNotFound},
	} {
		m, err := events.Encode(b.Names(), events.Event{Kind: events.KindJobStopped, Job: "large", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}, ResultRef: test.ref}})
		if err == nil {
			_, err = b.Publish(t.Context(), m, bus.Expect{})
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Result(t.Context(), "large")
		if !errors.Is(err, test.err) || err == nil && (string(got.Value) != test.want || got.Partial != test.partial) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, err := c.Result(t.Context(), "missing"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	going := steps("going")
	going.MaxEvents = 5
	written(t, b, going)
	if _, err := c.Result(t.Context(), "going"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("of a job that goes on: %v", err)
	}
}

func TestARerunIsGrantedByTheLogOrRefusedWithTheReason(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	c := written(t, b, steps("job"))
	edit := json.RawMessage(`{"goal":"write better"}`)
	musttest.Do(t, c.Rerun(t.Context(), "job", events.RerunRequested{SubJob: "write", Edit: edit}))
	s, err := c.Logs().SubJob(t.Context(), "job", "write")
	if err != nil || s.Spec.Goal != "write better" || s.State.Status == events.Finished {
		t.Errorf("%+v, %v", s, err)
	}
	for _, test := range []struct {
		job  string
		r    events.RerunRequested
		want error
	}{
		{"missing", events.RerunRequested{SubJob: "write"}, client.ErrNotFound},
		{"job", events.RerunRequested{SubJob: "nothing"}, client.ErrNotFound},
		{"job", events.RerunRequested{SubJob: "read", Run: 7}, client.ErrConflict},
	} {
		err := c.Rerun(t.Context(), test.job, test.r)
		var fault *events.Fault
		if !errors.Is(err, test.want) || !errors.As(err, &fault) || errors.Is(err, client.ErrConflict) && fault.Cause == "" {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// proves C29
func TestASubJobIsToldWithWhatItGaveByReferenceAndWhatItsRunsHaveCalled(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
	ref := musttest.Get(b.Blobs().Put(t.Context(), "job", []byte(`{"pages":9}`)))(t)
	s := steps("job")
	s.Default = func(w events.Work) events.SubJobReported {
		if w.SubJob == "write" {
			return events.SubJobReported{Outcome: events.Success, OutputRef: &ref}
		}
		return jobtest.Succeed(w.Goal)
	}
	c := written(t, b, s)
	musttest.Get(b.Journal("job", "write").Append(t.Context(), events.JournalRecord{Type: events.JournalIntent, Run: 1, Key: "http", Name: "http"}, 0))(t)
	got, err := c.Logs().SubJob(t.Context(), "job", "write")
	if err != nil || string(got.Output) != `{"pages":9}` || len(got.Calls) != 1 || got.Spec.Goal != "write" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Logs().SubJob(t.Context(), "job", "nothing"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	d, err := c.Diff(t.Context(), "job", "job")
	if err != nil || !d.Same() || d.A.SubJobs["write"].Calls != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	written(t, b, steps("other"))
	d, err = c.Diff(t.Context(), "job", "other")
	if err != nil || d.Same() || cmp.Diff([]string{"calls", "result"}, d.SubJobs[0].Fields) != "" || d.SubJobs[0].SubJob != "write" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := c.Diff(t.Context(), "job", "missing"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}
