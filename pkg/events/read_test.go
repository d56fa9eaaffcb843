package events

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func wholeWork() *Work {
	two, span := 2, Duration(time.Minute)
	return &Work{
		Kind: WorkExecute, Job: "j", SubJob: "s", Run: 2, Attempt: 1, ResumeOf: 1,
		Spec: SubJob{
			ID: "s", Name: "S 1", Goal: "line\n\"quoted\" 目标", Title: "t", Context: "c", CompletionCriteria: "d", Dependencies: []string{"a", "b"},
			Expert: "x", ExpertName: "专家", Pool: "default", Pure: true, Type: "research", Thinking: "because", OutputSchema: json.RawMessage(`{"type":"object"}`),
			Retries: &two, Timeout: &span,
		},
		Goal: "line\n\"quoted\" 目标", Context: "c", CompletionCriteria: "d",
		Inputs:  map[string]json.RawMessage{"k": json.RawMessage(`{"v":[1,2,"]}"]}`)},
		Results: map[string]Result{"a": {Output: json.RawMessage(`[1,{"b":"\"}"}]`), Run: 1}, "b": {Skipped: true}, "c": {OutputRef: &Ref{Digest: "d", Size: 3}}},
		Lessons: []string{"l\t1", "l2"}, Select: []string{"a.b"}, LifeCycle: 3, Session: "s", User: "u", Locale: "zh-CN",
		Brief: json.RawMessage(`{"v":1,"job":"j","request":{"goal":"目标"},"place":{"id":"s","n":1,"of":20},"marks":[],"x":[true,{}]}`), BriefRef: &Ref{Digest: "d", Size: 3},
		Request: &Request{Goal: "g"}, PlanVersion: 1, MaxSteps: 5,
		ReportSubject: "r", ReportID: "j/s/2", IdempotencyKey: "j/s/2", ClaimSubject: "c", Former: []Tenure{{Pool: "p", Run: 1}}, Lease: Duration(30 * time.Second), CancelSubject: "x",
	}
}

// plainBodies are payloads as the services write them: all of them have to be read without reflection.
func plainBodies(t testing.TB) map[string]plain {
	t.Helper()
	list := map[string]plain{}
	add := func(v plain) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		list[string(body)] = v
	}
	w := wholeWork()
	add(w)
	add(&Work{})
	add(&Plan{PlanID: "p", Title: "t", Locale: "en", Thought: "th", SubJobs: []SubJob{w.Spec, {ID: "b", Goal: "g", ExecutionRes: json.RawMessage(`"r"`)}}})
	add(&Plan{SubJobs: []SubJob{}})
	two := 2
	add(&JobRequested{
		Request: Request{Goal: "g", ID: "j", Plan: json.RawMessage(`{"subjobs":[]}`), Labels: map[string]string{"a": "b"}, Limits: Limits{Retries: &two}},
		Digest:  "d", Rules: Rules{Version: 1, Lease: Duration(time.Second)},
	})
	add(&GraphCreated{PlanVersion: 3, Plan: &Plan{SubJobs: []SubJob{w.Spec}}})
	add(&GraphCreated{PlanRef: &Ref{Digest: "d", Size: 3}})
	add(&SubJobReported{Outcome: Success, Output: json.RawMessage(`{"a":1}`), Started: time.Unix(1, 5).UTC(), DurationMS: 5, Owner: "o", Spent: Spent{Tokens: 5, CostUSD: 0.25}})
	add(&JobMoved{Status: Running, Turn: 1, Cause: 12, Reason: "r"})
	add(&JobEnded{JobMoved: JobMoved{Status: Finished, Turn: 2, Cause: 5}, Result: json.RawMessage("null"), DurationMS: 3, Spent: Spent{Tokens: 1}})
	add(&SubJobReported{Outcome: ExecutionError, Lesson: "line\nline", Output: json.RawMessage(`null`)})
	return list
}

func TestWhatTheServicesWriteIsReadWithoutReflection(t *testing.T) {
	for body, want := range plainBodies(t) {
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
		if !readPlain([]byte(body), got) {
			t.Errorf("left to encoding/json: %s", body)
		}
	}
}

// TestEveryFieldIsReadWithoutReflection holds the readers against the golden files, which have every field.
func TestEveryFieldIsReadWithoutReflection(t *testing.T) {
	read := func(file, body string, v any) {
		if p, ok := v.(plain); ok && !readPlain([]byte(body), p) {
			t.Errorf("%s is left to encoding/json", file)
		}
	}
	for _, file := range []string{"testdata/form/work.json", "testdata/form/request.json"} {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "work.json") {
			read(file, string(body), &Work{})
		} else {
			read(file, string(body), &Request{})
		}
	}
	for _, d := range Definitions() {
		file := "testdata/wire/" + string(d.Kind) + ".json"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct{ Body json.RawMessage }
		if err := json.Unmarshal(text, &golden); err != nil {
			t.Fatal(err)
		}
		read(file, string(golden.Body), d.New())
	}
}

// agree fails unless the quick way either declines or returns the result of encoding/json.
func agree(t *testing.T, body []byte) {
	t.Helper()
	for _, empty := range []plain{&Work{}, &Plan{}, &GraphCreated{}, &SubJobReported{}, &JobRequested{}, &JobMoved{}, &JobEnded{}} {
		kind := reflect.TypeOf(empty).Elem()
		fast, slow := reflect.New(kind).Interface(), reflect.New(kind).Interface()
		if !readPlain(body, fast) {
			continue
		}
		if err := json.Unmarshal(body, slow); err != nil {
			t.Fatalf("%s takes %q, encoding/json says %v", kind, body, err)
		}
		if !reflect.DeepEqual(fast, slow) {
			t.Fatalf("%s of %q\nquick %+v\nslow  %+v", kind, body, fast, slow)
		}
	}
}

func TestThePlainWayAgreesWithEncodingJSONAboutBrokenBodies(t *testing.T) {
	for body := range plainBodies(t) {
		for at := range len(body) {
			agree(t, []byte(body[:at]))
			agree(t, append([]byte(body[:at]), body[at+1:]...))
			for _, c := range []byte("\x00 \"\\{}[]:,-0eEn\xff") {
				changed := []byte(body)
				changed[at] = c
				agree(t, changed)
			}
		}
	}
}

func FuzzPlainRead(f *testing.F) {
	for body := range plainBodies(f) {
		f.Add([]byte(body))
	}
	for _, body := range []string{
		`{}`, `{ }`, `{"goal":"a","goal":"b"}`, `{"Goal":"a"}`, `{"goal":null}`, `{"run":01}`, `{"run":-0}`, `{"run":1e3}`, `{"run": - 1}`,
		`{"results":{"a":{"run":1},"a":{"run":2}}}`, `{"output":{"a":1},"output":[2]}`, `{"spec":{"dependencies":["a",]}}`, `{"a":1}x`, "{\"goal\":\"\x01\"}",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agree(t, body) })
}

func TestABodyThatIsUnusualIsReadAllTheSame(t *testing.T) {
	w := &Work{Goal: "old", Lessons: []string{"old"}}
	err := ReadWork([]byte("{\"Goal\": \"g\", \"later\": [1], \"run\": 3, \"session\": null}"), w)
	if err != nil || w.Goal != "g" || w.Run != 3 || w.Lessons != nil {
		t.Fatalf("%+v, %v", w, err)
	}
	if err := ReadWork([]byte(`{"goal":`), w); err == nil {
		t.Fatal("a torn body was taken")
	}
	p := &Plan{}
	err = ReadPlan(bytes.TrimSpace([]byte(" {\"subjobs\":[{\"id\":\"a\",\"goal\":\"g\",\"when\":\"b.x > 1\"}],\"reason\":\"r\"} ")), p)
	if err != nil || len(p.SubJobs) != 1 || p.SubJobs[0].When == "" || p.Reason != "r" {
		t.Fatalf("%+v, %v", p, err)
	}
}

func BenchmarkReadWork(b *testing.B) {
	body := []byte(`{"kind":"execute","job":"run0-196","subjob":"n0","run":1,"attempt":1,"spec":{"id":"n0","goal":"a goal of some words","expert":"noop","expert_name":"noop","pool":"default","pure":true},"goal":"a goal of some words","results":{"m":{"output":{"files":["a.go","b.go"],"n":2},"run":1}},"life_cycle":3,"brief":{"v":1,"job":"run0-196","request":{"goal":"bench"},"plan":{"version":1,"steps":[{"id":"n0","status":"in_progress"},{"id":"n1","status":"not_started"},{"id":"n2","status":"not_started"},{"id":"n3","status":"not_started"}]},"place":{"id":"n0","status":"in_progress","n":1,"of":10},"marks":{"completed":0,"in_progress":1,"not_started":9,"blocked":0},"successors":[{"id":"n1","status":"not_started"},{"id":"n2","status":"not_started"}]},"report_subject":"jobs.event.63.run0-196.subjob.reported.n0.1","report_id":"run0-196@3412/n0/1","idempotency_key":"run0-196@3412/n0/1","claim_subject":"jobs.journal.run0-196.n0","lease":"10s","cancel_subject":"jobs.cancel.run0-196.n0"}`)
	b.ReportAllocs()
	var w Work
	for b.Loop() {
		if err := ReadWork(body, &w); err != nil {
			b.Fatal(err)
		}
	}
}
