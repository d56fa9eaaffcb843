package joblog_test

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// from returns events as a log.
func from(list ...events.Event) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// played runs a script to its end and folds its log up to the last report of a SubJob, or all of it for "".
func played(t *testing.T, s jobtest.Script, until string) *joblog.Log {
	t.Helper()
	r, err := s.Run()
	if err != nil || r.State.Status != events.Finished {
		t.Fatal(r.State.Status, r.State.Error, err)
	}
	var seq uint64
	for _, e := range r.Events {
		if until != "" && e.Kind == events.KindSubJobReported && e.SubJob == until {
			seq = e.Seq
		}
	}
	return musttest.Get(joblog.Fold(from(r.Events...), seq))(t)
}

// edited is a job of one SubJob that was run again with another text.
func edited(t *testing.T, edit string) *joblog.Log {
	t.Helper()
	minute := events.Duration(time.Minute)
	return played(t, jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "look", Expert: "e", Timeout: &minute, Needs: []string{"web"}}}},
		Default: func(w events.Work) events.SubJobReported {
			r := jobtest.Succeed(w.Goal)
			r.DurationMS = 2000
			return r
		},
		Acts: []jobtest.Act{{At: time.Second, Kind: events.KindRerunRequested, Data: &events.RerunRequested{SubJob: "a", Edit: []byte(edit)}}},
	}, "")
}

func TestTheTextOfASubJobIsThatOfItsPlanWithTheEditsSince(t *testing.T) {
	l := edited(t, `{"goal":"look closely","timeout":"5s","needs":["eyes"]}`)
	n := l.Node("a")
	now, ok := l.Text(n.Spec)
	if !ok || now.Goal != "look closely" || time.Duration(*now.Timeout) != 5*time.Second || now.Needs[0] != "eyes" {
		t.Errorf("%+v, %v", now, ok)
	}
	if out := l.Result(n).Output; string(out) != `"look closely"` {
		t.Errorf("the run gave %s", out)
	}
	before, _ := l.Text(graph.Spec{Seq: n.Spec.Seq, ID: n.Spec.ID})
	if before.Goal != "look" || time.Duration(*before.Timeout) != time.Minute || before.Needs[0] != "web" {
		t.Errorf("the edit has changed the plan, too: %s, %v, %v", before.Goal, *before.Timeout, before.Needs)
	}
	if _, ok := l.Text(graph.Spec{Seq: n.Spec.Seq, ID: "b"}); ok {
		t.Error("a SubJob of no plan has a text")
	}
}

func TestAPlanByReferenceIsFilledInFromItsPayload(t *testing.T) {
	ref := &events.Ref{Digest: "d"}
	gone := errors.New("gone")
	for _, test := range []struct {
		text    []byte
		err     error
		want    error
		subjobs int
	}{
		{[]byte(`{"subjobs":[{"id":"a","goal":"g"}]}`), nil, nil, 1},
		{[]byte(`[`), nil, joblog.ErrPlan, 0},
		{nil, gone, gone, 0},
		{nil, nil, nil, 0},
	} {
		for _, e := range []events.Event{{Seq: 7, Data: &events.GraphCreated{PlanRef: ref}}, {Seq: 7, Data: &events.PlanEdited{PlanRef: ref}}} {
			err := joblog.Resolve(&e, func(asked events.Ref) ([]byte, error) {
				if asked.Digest != "d" {
					t.Error(asked)
				}
				return test.text, test.err
			})
			var p *events.Plan
			switch d := e.Data.(type) {
			case *events.GraphCreated:
				p = d.Plan
			case *events.PlanEdited:
				p = d.Plan
			}
			if !errors.Is(err, test.want) || (p != nil) != (test.subjobs > 0) {
				t.Errorf("%q, %v: %v, %v", test.text, test.err, p, err)
			}
		}
	}
	whole := events.Event{Data: &events.GraphCreated{PlanRef: ref, Plan: &events.Plan{}}}
	if err := joblog.Resolve(&whole, func(events.Ref) ([]byte, error) { return nil, gone }); err != nil {
		t.Errorf("a plan that is there was read again: %v", err)
	}
}

func TestALogEndsAtAnEventThatIsNotUnderstood(t *testing.T) {
	l := edited(t, `{"goal":"again"}`)
	later := events.Event{Seq: l.Last() + 1, Job: l.Job.ID, Kind: events.KindGraphCreated, SubJob: events.PlanID, Run: 9, Data: &events.GraphCreated{PlanRef: &events.Ref{Digest: "d"}}}
	got, err := joblog.Fold(from(append(slices.Clone(l.Events), later)...), 0)
	var fault *events.Fault
	if !errors.Is(err, joblog.ErrPoisoned) || !errors.As(err, &fault) || fault.Code != events.CodeMustUnderstand {
		t.Fatal(err)
	}
	if got.Job.Seq != l.Job.Seq {
		t.Errorf("the fold stands at %d, want %d", got.Job.Seq, l.Job.Seq)
	}
	if _, err := joblog.Fold(from(), 0); err == nil {
		t.Error("a fold of nothing is no error")
	}
}

func TestAJobIsFoldedFromAnyStateOn(t *testing.T) {
	l := edited(t, `{"goal":"again"}`)
	stray := events.Event{Seq: 0, Job: l.Job.ID, Kind: events.KindStopRequested, Data: &events.StopRequested{}}
	job, err := joblog.Advance(nil, from(append([]events.Event{stray}, l.Events[:3]...)...))
	if err == nil {
		job, err = joblog.Advance(job, from(l.Events[3:]...))
	}
	if err != nil {
		t.Fatal(err)
	}
	musttest.Equal(t, text(t, l.Job), text(t, job))
	if job, err := joblog.Advance(nil, from(stray)); job != nil || err != nil {
		t.Error(job, err)
	}
}

func text(t *testing.T, job *graph.Job) string {
	t.Helper()
	return string(musttest.Get(job.MarshalJSON())(t))
}

func TestTheResultOfAJobIsReadWhereverItIs(t *testing.T) {
	get := func(ref events.Ref) ([]byte, error) {
		return map[string][]byte{"json": []byte(`{"a":1}`), "text": []byte("no JSON")}[ref.Digest], nil
	}
	for _, test := range []struct {
		inline json.RawMessage
		ref    *events.Ref
		want   string
	}{
		{nil, nil, ""},
		{json.RawMessage(`1`), &events.Ref{Digest: "json"}, "1"},
		{nil, &events.Ref{Digest: "json"}, `{"a":1}`},
		{nil, &events.Ref{Digest: "text"}, `"no JSON"`},
		{nil, &events.Ref{Digest: "gone"}, ""},
	} {
		if got, err := joblog.Answer(test.inline, test.ref, get); string(got) != test.want || err != nil {
			t.Errorf("%s, %v: %s, %v", test.inline, test.ref, got, err)
		}
	}
}
