package schedule_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// missing writes golden files of kinds that have none. It never replaces one: wire forms only grow, so a new field gets a further
// file, <kind>.2.json.
var missing = flag.Bool("missing", false, "write the golden files that do not exist")

// golden is one message in the form of testdata.
type golden struct {
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"header"`
	Body    json.RawMessage     `json:"body"`
}

var at = time.Date(2026, 11, 22, 1, 45, 0, 0, time.UTC)

// example is a fact of a kind with every field set to something.
func example(d schedule.Definition) schedule.Fact {
	f := schedule.Fact{Kind: d.Kind, ID: "nightly", Name: "nightly/1", Source: "jobgraph/test", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Data: d.New()}
	if d.Run {
		f.Key = schedule.Key(at)
	}
	fault := &events.Fault{Code: events.CodeExecution, Message: "no luck", Field: "a"}
	spec := schedule.Spec{
		When:    events.Schedule{Pattern: "recurring", Cron: "45 2 * * *", Timezone: "Europe/Berlin"},
		Overlap: schedule.OverlapQueue, Missed: schedule.MissedAll, Jitter: events.Duration(90 * time.Second), Until: at.AddDate(1, 0, 0),
		MaxRuns: 7, MaxFailures: 3, Request: events.Request{Goal: "tidy up", User: "ann", Labels: map[string]string{"team": "ops"}},
	}
	spent := events.Spent{Tokens: 12, CostUSD: 0.25}
	switch p := f.Data.(type) {
	case *schedule.Creation:
		*p = schedule.Creation{Spec: spec, Digest: "d1", By: "j1/a"}
	case *schedule.Word:
		*p = schedule.Word{Reason: "holidays", By: "ann"}
	case *schedule.Moved:
		p.Due = at
	case *schedule.End:
		*p = schedule.End{Status: events.Failed, Refused: true, Error: fault, Result: json.RawMessage(`"done"`), DurationMS: 1500, Spent: spent}
	case *schedule.State:
		*p = schedule.State{
			ID: "nightly", Status: schedule.Rests, Reason: "holidays", Spec: spec, Digest: "d1", By: "ann", Created: at.AddDate(0, -1, 0),
			Next: at.AddDate(0, 0, 1), Last: at, Runs: 5, Skipped: 2, Failures: 1, Seq: 42, Facts: 9, Blocked: "why",
			Recent: []schedule.Run{{
				Key: schedule.Key(at), Due: at, JobID: schedule.JobID("nightly", schedule.Key(at)), Status: schedule.RunRunning, Triggered: true,
				Reason: "some", Skipped: 1, Started: at, Ended: at.Add(time.Minute), Error: fault, Result: json.RawMessage(`{"n":1}`), DurationMS: 60000,
				Spent: spent, Replaced: true, Doubted: true, Patient: true,
			}},
		}
	}
	return f
}

func TestGoldenFactsAreReadAndWrittenForEver(t *testing.T) {
	n := schedule.NewNames(events.NewNames(""))
	for _, d := range schedule.Definitions() {
		path := filepath.Join("testdata", "wire", string(d.Kind)+".json")
		if _, err := os.Stat(path); os.IsNotExist(err) && *missing {
			f := example(d)
			m, err := schedule.Encode(n, f)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(golden{m.Subject, m.Header, m.Body}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	paths, err := filepath.Glob("testdata/wire/*.json")
	if err != nil || len(paths) < len(schedule.Definitions()) {
		t.Fatalf("%d golden files, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		var body bytes.Buffer
		if err := json.Unmarshal(text, &g); err != nil || json.Compact(&body, g.Body) != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f, ok := schedule.Decode(n, events.Message{Subject: g.Subject, Header: g.Header, Body: body.Bytes()})
		if !ok || f.Fault != nil {
			t.Fatalf("%s: %v", path, f.Fault)
		}
		m, err := schedule.Encode(n, f)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != g.Subject || !reflect.DeepEqual(m.Header, g.Header) || !bytes.Equal(m.Body, body.Bytes()) {
			t.Errorf("%s is written as %s %v\n%s\nwant\n%s", path, m.Subject, m.Header, m.Body, body.Bytes())
		}
		d, _ := schedule.Define(f.Kind)
		if !strings.Contains(path, ".2.") && !reflect.DeepEqual(f.Data, example(d).Data) {
			t.Errorf("%s is read as %+v", path, f.Data)
		}
	}
}

func TestEveryKindHasASchema(t *testing.T) {
	for _, d := range schedule.Definitions() {
		if text, ok := schedule.Schema(string(d.Kind)); !ok || !json.Valid(text) {
			t.Errorf("%s has no schema", d.Kind)
		}
	}
	if _, ok := schedule.Schema("nothing"); ok {
		t.Error("an unknown name has a schema")
	}
}

func TestWhatIsNoFactSaysWhatItIs(t *testing.T) {
	n := schedule.NewNames(events.NewNames(""))
	kind := func(k string, more ...string) map[string][]string {
		return events.Header(append(more, events.HeaderType, k)...)
	}
	for _, c := range []struct {
		subject string
		header  map[string][]string
		body    string
		ok      bool
		code    events.Code
	}{
		{subject: "jobs.event.1.j1.job.requested"},
		{subject: "jobs.schedule.a"},
		{subject: "jobs.schedule.a~b.created"},
		{subject: "jobs.schedule.a.due.x.y"},
		{subject: "jobs.schedule.a.created", body: "{", ok: true, code: events.CodeMalformed},
		{subject: "jobs.schedule.a.due", body: "{}", ok: true, code: events.CodeMalformed},
		{subject: "jobs.schedule.a.paused", body: "{}", ok: true, code: events.CodeMalformed},
		{subject: "jobs.schedule.a.control", body: "{}", ok: true, code: events.CodeMalformed},
		{subject: "jobs.schedule.a.control", header: kind("io.jobgraph.schedule.created.v1"), body: "{}", ok: true, code: events.CodeMalformed},
		{subject: "jobs.schedule.a.control", header: kind("io.jobgraph.schedule.moved.v1"), body: "{}", ok: true, code: events.CodeMustUnderstand},
		{subject: "jobs.schedule.a.moved", header: kind("io.jobgraph.schedule.moved.v1"), body: "{}", ok: true, code: events.CodeMustUnderstand},
		{subject: "jobs.schedule.a.moved", header: kind("io.jobgraph.schedule.moved.v1", events.HeaderSkippable, "true"), ok: true, code: events.CodeSkippable},
		{subject: "jobs.schedule.a.control", header: kind("io.jobgraph.schedule.paused.v1"), body: "{}", ok: true},
	} {
		f, ok := schedule.Decode(n, events.Message{Subject: c.subject, Header: c.header, Body: []byte(c.body)})
		var code events.Code
		if f.Fault != nil {
			code = f.Fault.Code
		}
		if ok != c.ok || code != c.code || ok && code == "" && f.Data == nil {
			t.Errorf("%s %v: %v, %q %v", c.subject, c.header, ok, code, f.Fault)
		}
	}
}

func TestTheIDOfAJobNamesItsRun(t *testing.T) {
	long := strings.Repeat("x", schedule.MaxID)
	for _, c := range []struct{ id, key string }{{"nightly", schedule.Key(at)}, {"a-b-t1", schedule.TriggerKey(42)}, {long, schedule.Key(at)}} {
		job := schedule.JobID(c.id, c.key)
		if id, key, ok := schedule.RunOf(job); id != c.id || key != c.key || !ok || !events.ValidID(job) {
			t.Errorf("%s is run %q of %q, %v", job, key, id, ok)
		}
	}
	for _, job := range []string{"", "nightly", "-t1", "nightly-", "nightly-t", "nightly-t07", "nightly-tx", "nightly-20261322T014500Z", "a~b-t1"} {
		if id, key, ok := schedule.RunOf(job); ok {
			t.Errorf("%q is run %q of %q", job, key, id)
		}
	}
}
