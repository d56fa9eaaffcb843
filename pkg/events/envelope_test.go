package events

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// read decodes a body on a subject of job j1, with headers given as name, value, name, value.
func read(t *testing.T, tail, body string, header ...string) Event {
	t.Helper()
	n := NewNames("")
	m := Message{Subject: strings.TrimSuffix(n.JobEvents("j1"), ">") + tail, Header: map[string][]string{}, Body: []byte(body)}
	for i := 0; i < len(header); i += 2 {
		m.Header[header[i]] = []string{header[i+1]}
	}
	e, ok := Decode(n, m)
	if !ok {
		t.Fatalf("%s is no subject of the log", m.Subject)
	}
	return e
}

func TestAReportIsReadInEveryForm(t *testing.T) {
	want := &SubJobReported{Outcome: Success, Output: json.RawMessage(`1`)}
	for name, e := range map[string]Event{
		"bare":       read(t, "subjob.reported.a.1", `{"outcome":"SUCCESS","output":1}`),
		"binary":     read(t, "subjob.reported.a.1", `{"outcome":"SUCCESS","output":1}`, HeaderType, "io.jobgraph.subjob.reported.v1"),
		"structured": read(t, "subjob.reported.a.1", `{"specversion":"1.0","type":"io.jobgraph.subjob.reported.v1","id":"x","source":"y","data":{"outcome":"SUCCESS","output":1}}`),
		"unknown":    read(t, "subjob.reported.a.1", `{"outcome":"SUCCESS","output":1,"later":true}`),
		"spaced":     read(t, "subjob.reported.a.1", " \n{\"outcome\":\"SUCCESS\",\"output\":1}"),
		"named":      read(t, "subjob.reported.a.1", `{"outcome":"SUCCESS","output":1}`, HeaderType, "subjob.reported"),
	} {
		if !reflect.DeepEqual(e.Data, want) || e.SubJob != "a" || e.Run != 1 || e.Job != "j1" {
			t.Errorf("%s: %+v, fault %v", name, e, e.Fault)
		}
	}
	if e := read(t, "subjob.reported.a.1", `{"outcome":"EXECUTION_ERROR","error":"disk full"}`); e.Report().Error.Message != "disk full" {
		t.Errorf("an error that is a bare string is read as %+v", e.Report())
	}
}

func TestAReportThatCannotBeReadIsAnExecutionErrorThatKeepsItsText(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "SUCCESS", `{"outcome":"MAYBE"}`, `{"outcome":7}`, `{"outcome":"SUCCESS","run":2}`, `{"outcome":"SUCCESS","job":"other"}`, "\x00\xff"} {
		e := read(t, "subjob.reported.a.1", body)
		if e.Fault == nil || e.Fault.Code != CodeMalformed || string(e.Raw) != body {
			t.Errorf("%q: %+v", body, e)
		}
		r := e.Report()
		var text string
		if json.Unmarshal(r.Output, &text) != nil || r.Outcome != ExecutionError || r.Malformed == "" || r.Error == nil {
			t.Errorf("%q is reported as %+v", body, r)
		}
	}
}

func TestControlEventsAreNamedByTheirEnvelope(t *testing.T) {
	for name, e := range map[string]Event{
		"binary":             read(t, "control", `{"reason":"x"}`, HeaderType, KindStopRequested.Type()),
		"bare":               read(t, "control", `{"type":"stop.requested","reason":"x"}`),
		"structured":         read(t, "control", `{"specversion":"1.0","type":"io.jobgraph.stop.requested.v1","data":{"reason":"x"}}`),
		"bare with our type": read(t, "control", `{"type":"io.jobgraph.stop.requested.v1","reason":"x"}`),
	} {
		if d, ok := e.Data.(*StopRequested); !ok || d.Reason != "x" || !e.Control {
			t.Errorf("%s: %+v, fault %v", name, e, e.Fault)
		}
	}
	if e := read(t, "control", `{"specversion":"1.0","type":"io.jobgraph.recover.requested.v1"}`); e.Fault != nil {
		t.Errorf("one without data: %v", e.Fault)
	}
}

func TestEventsOfALaterVersionSayWhetherTheyMayBePassedOver(t *testing.T) {
	for _, c := range []struct {
		tail, body string
		header     []string
		want       Code
	}{
		{"future.kind", `{}`, []string{HeaderType, "io.jobgraph.future.kind.v1"}, CodeMustUnderstand},
		{"future.kind", `{}`, []string{HeaderType, "io.jobgraph.future.kind.v1", HeaderSkippable, "true"}, CodeSkippable},
		{"future.kind", `{"specversion":"1.0","type":"io.jobgraph.future.kind.v1","skippable":true,"data":{}}`, nil, CodeSkippable},
		{"future.kind", `{"specversion":"1.0","type":"io.jobgraph.future.kind.v1","data":{}}`, nil, CodeMustUnderstand},
		{"subjob.reported.a.1", `{"outcome":"SUCCESS"}`, []string{HeaderType, "io.jobgraph.subjob.reported.v2"}, CodeMustUnderstand},
		{"control", `{}`, []string{HeaderType, "io.jobgraph.future.requested.v1"}, CodeMustUnderstand},
		{"control", `{}`, []string{HeaderType, "io.jobgraph.future.requested.v1", HeaderSkippable, "true"}, CodeSkippable},
		{"future.kind", `{}`, nil, CodeMalformed},
		{"future.kind", `{}`, []string{HeaderType, "com.example.future"}, CodeMalformed},
		{"timer.fired.x", `{}`, []string{HeaderType, "io.jobgraph.future.kind.v1"}, CodeMalformed},
		{"timer.fired.x", `{}`, []string{HeaderType, KindJobFinished.Type()}, CodeMalformed},
		{"control", `{}`, nil, CodeMalformed},
		{"control", `stop`, nil, CodeMalformed},
		{"control", `{"type":7}`, nil, CodeMalformed},
		{"control", `{}`, []string{HeaderType, "com.example.stop"}, CodeMalformed},
		{"control", `{}`, []string{HeaderType, KindJobFinished.Type()}, CodeMalformed},
		{"stop.requested", `{}`, nil, CodeMalformed},
		{"stop.requested", `{}`, []string{HeaderType, KindStopRequested.Type()}, CodeMalformed},
		{"job.requested", `{"request":{"goal":"x"}}`, nil, CodeMalformed},
		{"job.requested", `null`, nil, CodeMalformed},
		{"input.requested.a.1", `{"request":"a b"}`, nil, CodeMalformed},
	} {
		e := read(t, c.tail, c.body, c.header...)
		if e.Fault == nil || e.Fault.Code != c.want || e.Data != nil {
			t.Errorf("%s %s %v: %+v, want %s", c.tail, c.body, c.header, e.Fault, c.want)
		}
	}
}

func TestSkippableKindsSayThatTheyAre(t *testing.T) {
	for _, d := range Definitions() {
		m, err := Encode(NewNames(""), example(d))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Get(HeaderSkippable) == "true"; got != d.Skippable {
			t.Errorf("%s: header %t, definition %t", d.Kind, got, d.Skippable)
		}
	}
}

func TestAMessageThatIsNoneOfTheLogIsNotRead(t *testing.T) {
	n := NewNames("")
	for _, subject := range []string{
		"", "jobs", "jobs.event", "jobs.event.1.j1.control", "jobs.event.64.j1.control", "other.event.36.j1.control", "jobs.event.36.j1", "jobs.event.36.j1.a",
		"jobs.event.36.j1.subjob.reported.a", "jobs.event.36.j1.subjob.reported.a.0", "jobs.event.36.j1.subjob.reported.a.-1", "jobs.event.36.j1.subjob.reported.a.01",
		"jobs.event.36.j1.subjob.reported.a.1.p.2", "jobs.event.36.j1.subjob.reported.a.1.*", "jobs.event.36.j1.subjob.reported.a b.1", "jobs.event.36.j*1.control", "jobs.event.036.j1.control",
	} {
		if e, ok := Decode(n, Message{Subject: subject}); ok {
			t.Errorf("%q is read as %+v", subject, e)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("subjob.reported.a.1", "", "", []byte(`{"outcome":"SUCCESS","output":1}`))
	f.Add("control", "io.jobgraph.stop.requested.v1", "true", []byte(`{"subjob":"a"}`))
	f.Add("future.kind.x", "io.jobgraph.future.kind.v2", "true", []byte(`{"specversion":"1.0","type":"io.jobgraph.future.kind.v1","data":null}`))
	f.Add("graph.created.~plan.1", "", "", []byte(`{"plan":{"subjobs":[{"id":"a","goal":"g","timeout":"1h","retries":-1}]}}`))
	n := NewNames("")
	prefix := strings.TrimSuffix(n.JobEvents("j1"), ">")
	f.Fuzz(func(t *testing.T, tail, ceType, skippable string, body []byte) {
		m := Message{Subject: prefix + tail, Body: body, Header: map[string][]string{HeaderType: {ceType}, HeaderSkippable: {skippable}}}
		e, ok := Decode(n, m)
		if !ok {
			return
		}
		if (e.Data == nil) == (e.Fault == nil) {
			t.Fatalf("data %v, fault %v", e.Data, e.Fault)
		}
		e.Report()
		if e.Fault != nil {
			return
		}
		again, err := Encode(n, e)
		if err != nil {
			t.Fatalf("%s cannot be written again: %v", e.Kind, err)
		}
		back, ok := Decode(n, again)
		if !ok || back.Fault != nil || back.Kind != e.Kind || back.SubJob != e.SubJob || back.Run != e.Run || back.Control != e.Control {
			t.Fatalf("%+v comes back as %+v", e, back)
		}
	})
}
