package graph

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// FuzzHistory is the first property, with choices made by the fuzzer.
func FuzzHistory(f *testing.F) { f.Fuzz(rapid.MakeFuzz(historyEnds)) }

// FuzzStep steps arbitrary events, possible or not, whatever they are about: Step never panics, a second time nothing is
// applied, and the state can be saved and loaded after each.
func FuzzStep(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyEvents)) }

func TestStepNeverPanics(t *testing.T) { rapid.Check(t, anyEvents) }

func anyEvents(t *rapid.T) {
	d := newDice(t)
	names := events.NewNames("")
	job := musttest.Get(New(events.Event{Kind: events.KindJobRequested, Job: "j", Seq: 1, Time: time.Unix(0, 0), Data: &events.JobRequested{Rules: drawRules(d)}}))(t)
	last := rapid.OneOf(rapid.Uint64Range(2, 10), rapid.Uint64Range(30, 60)).Draw(t, "events")
	for seq := uint64(2); seq <= last; seq++ {
		e := anyEvent(t, d, names, job)
		e.Seq = seq
		job.Step(e)
		if effect := job.Step(e); effect.Verdict != Duplicate && effect.Verdict != Poisoned {
			t.Fatalf("%s was %s the second time", e.Kind, effect.Verdict)
		}
		if d.roll(2) == 0 {
			for _, c := range job.Pending() {
				if d.roll(4) > 0 {
					job.Sent(c.CommandID)
				}
			}
		}
		job.Why("")
		data := musttest.JSON(t, job)
		if d.roll(4) == 0 {
			job = &Job{}
			musttest.Decode(t, data, job)
		}
	}
}

// anyEvent draws a subject of the job and a body, and reads them as the log is read.
func anyEvent(t *rapid.T, d *dice, names events.Names, job *Job) events.Event {
	definition := oneOf(d, events.Definitions())
	id := oneOf(d, []string{events.PlanID, events.FinalID, "a", "b", "c", "a~2~b", "ghost"})
	subject := names.Event("j", definition.Kind, oneOf(d, []string{"1", "2", "q1", "retry~a~1"}))
	if definition.Run {
		run := 1 + d.roll(3)
		if n := job.dag.find(id); n != nil && d.roll(2) == 0 {
			run = max(1, n.Run)
		}
		subject = names.RunEvent("j", definition.Kind, id, run)
	}
	m := events.Message{Subject: subject, Header: map[string][]string{events.HeaderType: {definition.Kind.Type()}}}
	switch {
	case definition.Kind == events.KindGraphCreated && d.roll(4) > 0:
		m.Body, _ = json.Marshal(&events.GraphCreated{Plan: drawPlan(d)})
	case definition.Kind == events.KindPlanEdited && d.roll(4) > 0:
		m.Body, _ = json.Marshal(&events.PlanEdited{PlanVersion: job.PlanVersion, Plan: drawPlan(d)})
	case d.roll(3) == 0:
		m.Body = []byte(rapid.String().Draw(t, "body"))
	default:
		m.Body = []byte(oneOf(d, bodies))
	}
	e, ok := events.Decode(names, m)
	if !ok {
		t.Fatalf("subject %q", subject)
	}
	e.Time = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0).UTC()
	return e
}

var bodies = []string{
	`{}`, `null`, `{"outcome":"SUCCESS","output":{"ok":true}}`, `{"outcome":"INPUT_DATA_ERROR"}`, `{"outcome":"EXECUTION_ERROR","retry_after":"10000h"}`,
	`{"outcome":"JOB_TOO_COMPLICATED_ERROR"}`, `{"claimed":true,"lease_until":"9999-12-31T23:59:59Z"}`, `{"request":"q1","kind":"approval","expires_in":"800000h"}`,
	`{"action":"answered","answer":1}`, `{"action":"expired"}`, `{"action":"else"}`, `{"timer":"retry~a~1"}`, `{"timer":"deadline~~1"}`, `{"timer":"reap~~2"}`,
	`{"timer":"fence~a~1"}`, `{"timer":"input~q1~1"}`, `{"subjob":"a"}`, `{"subjob":"a","only":true}`, `{"subjob":"~plan"}`, `{"subjob":"a","edit":{"expert":"y","timeout":"1s"}}`,
	`{"from":"a"}`, `{"answer":"text"}`, `{"faults":[]}`, `{"faults":[{"code":"x","message":"y"}]}`, `{"turn":1,"status":"FINISHED"}`, `{"tokens":-5,"cost_usd":-1,"outcome":"SUCCESS"}`,
	`{"plan_ref":{"digest":"x","size":1}}`,
}
