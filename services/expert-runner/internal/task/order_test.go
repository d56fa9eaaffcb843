package task_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

var names = events.NewNames("")

func TestTheSubjectDecidesAndABodyMayLeaveItOut(t *testing.T) {
	o := musttest.Get(task.Read(names, "jobs.work.p.e.j.s~1~t.3", []byte(`{"spec":{"goal":"g"},"lease":"1ms","more":1}`)))(t)
	if o.Pool != "p" || o.Expert != "e" || o.ID() != "j/s~1~t/3" || o.Goal != "g" || o.Lease.Std() != run.MinLease ||
		o.IdempotencyKey != "j/s~1~t/3" || o.Kind != events.WorkExecute {
		t.Errorf("%+v", o)
	}
}

func TestItemsNameThePoolOnlyIfTheWorkSaysSo(t *testing.T) {
	for subject, want := range map[string]string{"jobs.item.j.s.p": "p", "jobs.item.j.s": "", "jobs.item.j.s.q": "", "jobs.item.k.s.p": "", "": ""} {
		o, err := task.Read(names, "jobs.work.p.e.j.s.1", []byte(`{"item_subject":"`+subject+`"}`))
		if err != nil || o.Shows != want {
			t.Errorf("%q: %q, %v", subject, o.Shows, err)
		}
	}
}

func TestWhatIsNoWorkIsRefused(t *testing.T) {
	tests := map[string]struct{ subject, body, want string }{
		"another subject":   {"jobs.event.1.j.x", `{}`, "no work subject"},
		"a short subject":   {"jobs.work.p.e.j", `{}`, "no work subject"},
		"a bad id":          {"jobs.work.p.e.j*.s.1", `{}`, "no id"},
		"run 0":             {"jobs.work.p.e.j.s.0", `{}`, "no run"},
		"run 01":            {"jobs.work.p.e.j.s.01", `{}`, "no run"},
		"another job":       {"jobs.work.p.e.j.s.1", `{"job":"k"}`, "body is about"},
		"another run":       {"jobs.work.p.e.j.s.1", `{"run":2}`, "body is about"},
		"planning":          {"jobs.work.p.e.j.s.1", `{"kind":"plan"}`, "not for an expert"},
		"no JSON":           {"jobs.work.p.e.j.s.1", `{`, "read work"},
		"a negative lease":  {"jobs.work.p.e.j.s.1", `{"lease":-1}`, "must not be negative"},
		"fields turned bad": {"jobs.work.p.e.j.s.1", `{"results":[]}`, "read work"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := task.Read(names, test.subject, []byte(test.body)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("jobs.work.p.e.j.s.1", []byte(`{"job":"j","subjob":"s","run":1,"lease":"30s","results":{"a":{"output":1}}}`))
	f.Add("jobs.work.p.e.j.s.1", []byte(`null`))
	f.Add("jobs.work.....", []byte(``))
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		o, err := task.Read(names, subject, body)
		if err != nil {
			return
		}
		if want := names.WorkFor(o.Pool, o.Expert, o.Job, o.SubJob, o.Run); want != subject {
			t.Errorf("subject %q read as %q", subject, want)
		}
		if o.Lease.Std() < run.MinLease || o.Lease.Std() > run.MaxLease {
			t.Errorf("lease %s", o.Lease.Std())
		}
		d := decide(o, noon, journal(claimed(1, "b"), intent(1, "x", false)))
		if d.Ending != nil && d.Ending.Park != nil && !events.ValidToken(d.Ending.Park.Request) {
			t.Errorf("request id %q", d.Ending.Park.Request)
		}
	})
}

func FuzzSelected(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":2}]}}`), "a.b.1.c")
	f.Fuzz(func(t *testing.T, output []byte, path string) {
		for _, value := range task.Selected(output, []string{path}) {
			if json.Valid(output) && !json.Valid(value) {
				t.Errorf("%q of %q is no JSON: %q", path, output, value)
			}
		}
	})
}

func TestSelectedPicksValuesByPath(t *testing.T) {
	output := json.RawMessage(` {"a": {"b": [1, {"c": "x"}]}, "n": null, "big": "` + strings.Repeat("y", 5000) + `"}`)
	got := map[string]string{}
	for path, value := range task.Selected(output, []string{"a.b.0", "a.b.1.c", "a.b.2", "a.b.x", "n", "n.m", "big", "none", ""}) {
		got[path] = string(value)
	}
	want := map[string]string{"a.b.0": "1", "a.b.1.c": `"x"`, "n": "null", "big": `"` + strings.Repeat("y", 1000) + `…"`, "": "true"}
	musttest.Equal(t, want, got)
}

func TestAnEndingIsMadeFitForTheLog(t *testing.T) {
	long := strings.Repeat("ä", 20_000)
	e := task.Ending{Report: &events.SubJobReported{
		Outcome: "DONE", Lesson: long, Job: "other", Run: 9,
		Error: &events.Fault{Message: long},
	}}.Sound()
	e.Sign("me", noon, noon.Add(1500*time.Millisecond))
	r := e.Report
	if r.Outcome != events.ExecutionError || r.Error.Code != events.CodeMalformed || r.Job != "" || r.Run != 0 || len(r.Lesson) > 16<<10 ||
		!strings.HasSuffix(r.Lesson, "ä") || r.Owner != "me" || r.DurationMS != 1500 {
		t.Errorf("%+v", r)
	}
	for name, e := range map[string]task.Ending{
		"nothing":          {},
		"a bad request id": {Park: &events.InputRequested{Request: "a b"}},
	} {
		if got := e.Sound(); got.Report == nil || got.Report.Outcome != events.ExecutionError {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
