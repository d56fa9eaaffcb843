package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// ask calls a verb until the scheduler is there to answer.
func (w *workers) ask(verb, body string) (string, *events.Fault) {
	w.Helper()
	for {
		answer, fault, err := w.Bus.Services().Request(w.Context(), w.Names.API(verb), []byte(body))
		if err == nil {
			return string(answer), fault
		}
		if w.Context().Err() != nil {
			w.Fatal(err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Fields of a request that no service reads are refused by name: tools, for example, are set in the configuration.
// proves F-weakness-c-tools
func TestEveryFaultOfABadRequestIsAnnounced(t *testing.T) {
	w := newWorkers(t, nil)
	rejected := make(chan events.Rejection, 1)
	stopListening := musttest.Get(w.Bus.SubscribeCore(w.Names.Rejected(), func(_ string, body []byte) {
		var r events.Rejection
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		rejected <- r
	}))(t)
	defer stopListening()
	w.schedule(Default(), Deps{})
	for body, want := range map[string][]events.Code{
		"":                                 {events.CodeMalformed},
		"[1]":                              {events.CodeMalformed},
		`{"id":"a.b","colour":1,"goal":7}`: {events.CodeUnknownField, events.CodeInvalid, events.CodeInvalid},
		`{"goal":"g","mcp_settings":{"servers":{"mine":{"command":"x"}}}}`:                                {events.CodeNotPermitted},
		`{"goal":"g","plan_ref":{"digest":"00","size":1}}`:                                                {events.CodeMissing},
		`{"id":"x","goal":"g","inputs_ref":{"digest":"00","size":1},"plan_ref":{"digest":"01","size":1}}`: {events.CodeMissingBlob, events.CodeMissingBlob},
		`{"goal":"g","schedule":{"at":"2001-01-01T00:00:00Z"}}`:                                           {events.CodeInvalid},
	} {
		w.Publish(w.Names.Request(), []byte(body))
		var codes []events.Code
		select {
		case r := <-rejected:
			for _, f := range r.Faults {
				codes = append(codes, f.Code)
			}
		case <-time.After(w.Patience): // It was taken.
		}
		if diff := cmp.Diff(want, codes); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	w.Until("the queue is empty", func() bool {
		facts, err := w.Bus.Streams().Info(t.Context(), w.Names.Intake)
		return err == nil && facts.Messages == 0
	})
}

// proves C17
func TestTheSameIdWithOtherContentIsAConflictAndWithTheSameOneJob(t *testing.T) {
	w := newWorkers(t, nil)
	w.stop() // No planner runs.
	w.schedule(Default(), Deps{})
	first, fault := w.ask("submit", `{"id":"same","goal":"one","inputs":{"a":1,"b":{"c":2,"d":3}}}`)
	if fault != nil {
		t.Fatal(fault)
	}
	again, fault := w.ask("submit", `{"id":"same","query":"one","inputs":{"b":{"d":3,"c":2},"a":1}}`)
	if fault != nil || !strings.Contains(again, `"duplicate":true`) || !strings.Contains(first, `"job_id":"same"`) {
		t.Errorf("%s, then %s %v", first, again, fault)
	}
	if _, fault := w.ask("submit", `{"id":"same","goal":"two"}`); fault == nil || fault.Code != events.CodeConflict {
		t.Errorf("other content: %v", fault)
	}
}

func TestALargePlanAndLargeInputsGoByReferenceAndTheStateInChunks(t *testing.T) {
	steps, digits := 3000, 1
	if testing.Short() {
		steps, digits = 1700, 63 // Longer ids make the state as large.
	}
	id := func(step int) string { return fmt.Sprintf("n%0*d", digits, step) }
	final := id(steps - 1)
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.InputsRef == nil {
			t.Errorf("%s: inputs are not by reference", work.SubJob)
		}
		if work.SubJob == final {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"` + strings.Repeat("r", 1000) + `"`)}
	})
	s := Default()
	s.SaveAfter = time.Millisecond
	scheduler := w.schedule(s, Deps{})
	var subjobs []events.SubJob
	last := sub(final)
	for i := range steps - 1 {
		subjobs = append(subjobs, sub(id(i)))
		last.Dependencies = append(last.Dependencies, subjobs[i].ID)
	}
	w.Submit(events.Request{
		ID: "big", Goal: "g", Plan: plan(append(subjobs, last)...),
		Inputs: map[string]json.RawMessage{"text": json.RawMessage(`"` + strings.Repeat("x", events.MaxInline) + `"`)},
	})
	w.saved("big", func(k *graph.State) bool { return k.Progress.Done == steps-1 })
	musttest.Do(t, scheduler.Stop())
	if keys, err := w.Bus.State().Keys(t.Context()); err != nil || len(keys) < 3 {
		t.Errorf("keys: %v, %v", keys, err)
	}
	w.schedule(s, Deps{})
	w.Publish(w.Names.RunEvent("big", events.KindSubJobReported, final, 1), []byte(`{"outcome":"SUCCESS","output":"end"}`))
	if end := w.Ended("big"); string(end.Result) != `"end"` {
		t.Errorf("%+v", end)
	}
}

func TestControlVerbsSayWhyTheyDoNotApply(t *testing.T) {
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "b" && work.Run == 1 {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`1`)}
	})
	w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Labels: map[string]string{"team": "x"}, Plan: diamond()})
	w.Await(w.Names.JobEvents("j"), func(e events.Event) bool { return e.SubJob == "c" })
	refused := func(verb, body string, code events.Code) {
		t.Helper()
		if answer, fault := w.ask(verb, body); fault == nil || fault.Code != code || fault.Hint == "" {
			t.Errorf("%s %s: %s %+v, want %s", verb, body, answer, fault, code)
		}
	}
	done := func(verb, body, want string) {
		t.Helper()
		if answer, fault := w.ask(verb, body); fault != nil || !strings.Contains(answer, want) {
			t.Errorf("%s %s: %s %v, want %s", verb, body, answer, fault, want)
		}
	}
	refused("get", `{"id":"nobody"}`, events.CodeNotFound)
	refused("get", `{"id":"a.b"}`, events.CodeInvalid)
	refused("stop", `{"id":"j","colour":1}`, events.CodeMalformed)
	refused("recover", `{"id":"j"}`, events.CodeConflict)
	refused("retry", `{"id":"j","subjob":"a"}`, events.CodeConflict)
	refused("answer", `{"id":"j","answer":1}`, events.CodeNotFound)
	refused("delete", `j`, events.CodeConflict)
	refused("why", `{"id":"j","subjob":"z"}`, events.CodeNotFound)
	done("why", `{"id":"j","subjob":"d"}`, `"code":"dependency"`)
	done("graph", `j`, `"id":"d","status":"CREATED"`)
	done("get", `j`, `"status":"RUNNING"`)
	done("stop", `{"id":"j","reason":"enough"}`, `"status":"STOPPED"`)
	refused("stop", `{"id":"j"}`, events.CodeConflict)
	done("recover", `{"id":"j"}`, `"accepted":true`)
	w.saved("j", func(k *graph.State) bool { return k.Status == events.Finished && !k.EndOwed })
	done("list", `{"labels":{"team":"x"},"state":"finished"}`, `"id":"j"`)
	done("delete", `j`, `"deleted":true`)
	refused("get", `j`, events.CodeNotFound)
}

func TestWhatADeletionThatWasCutOffHasLeftIsNotListedForEver(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		names := w.Names
		w.schedule(Default(), Deps{})
		for id, finish := range map[string]func(id string){
			"repeated": func(id string) {
				if answer, fault := w.ask("delete", id); fault != nil || !strings.Contains(answer, `"deleted":true`) {
					t.Errorf("%s %v", answer, fault)
				}
			},
			"redelivered": func(id string) {
				w.Publish(names.Event(id, events.KindTimerFired, "reap~~1"), []byte(`{"timer":"reap~~1"}`))
			},
		} {
			w.Submit(events.Request{ID: id, Goal: "g", Plan: plan(sub("a"))})
			w.Ended(id)
			w.settled()
			if err := w.Bus.Streams().Purge(t.Context(), names.Log, names.JobEvents(id)); err != nil { // The state comes next, and stays.
				t.Fatal(err)
			}
			if answer, _ := w.ask("list", ""); !strings.Contains(answer, `"id":"`+id+`"`) {
				t.Errorf("nothing of %s is left: %s", id, answer)
			}
			finish(id)
			w.settled()
			if answer, fault := w.ask("list", ""); fault != nil || !strings.Contains(answer, `"jobs":[]`) {
				t.Errorf("%s: %s %v", id, answer, fault)
			}
			if answer, fault := w.ask("delete", id); fault == nil || fault.Code != events.CodeNotFound {
				t.Errorf("%s once more: %s %v", id, answer, fault)
			}
		}
		if _, err := w.Bus.Journal("cut", "a").Append(t.Context(), events.JournalRecord{Type: events.JournalClosed, Run: 1}, 0); err != nil { // By an import.
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			if answer, fault := w.ask("delete", "cut"); (fault == nil) != want {
				t.Errorf("journals without a log: %s %v", answer, fault)
			}
		}
	})
}

func TestAJobWhoseTimeIsOverIsDeletedAsAWhole(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		settings := Default()
		settings.Retention = time.Minute
		w.schedule(settings, Deps{})
		w.Submit(events.Request{ID: "j", Goal: "g", Plan: plan(sub("a"))})
		w.Ended("j")
		<-time.After(2 * time.Minute) // In virtual time.
		w.settled()
		if answer, fault := w.ask("list", ""); fault != nil || !strings.Contains(answer, `"jobs":[]`) {
			t.Errorf("%s %v", answer, fault)
		}
		if last, err := w.Bus.Streams().LastOn(t.Context(), w.Names.Log, w.Names.JobEvents("j")); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("%s is left, %v", last.Subject, err)
		}
	})
}

func TestTwoAnswersToOneQuestionAdmitOne(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	w.stop() // The test is the worker.
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.Await(w.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindJobPlanning })
	names := w.Names
	w.Publish(names.RunEvent("j", events.KindInputRequested, events.PlanID, 1), []byte(`{"request":"q","kind":"unknown","prompt":"go?","options":["yes","no"],"user":"ann"}`))
	asked := func(body string) *events.Fault { _, fault := w.ask("answer", body); return fault }
	for {
		if answer, _ := w.ask("inputs", "j"); strings.Contains(answer, `"prompt":"go?"`) {
			break
		}
	}
	for body, code := range map[string]events.Code{
		`{"id":"j","answer":"yes"}`:                             events.CodeNotPermitted,
		`{"id":"j","request":"r","answer":"yes","by":"ann"}`:    events.CodeNotFound,
		`{"id":"j","request":"q","answer":"maybe","by":"ann"}`:  events.CodeInvalid,
		`{"id":"j","request":"q","by":"ann"}`:                   events.CodeMissing,
		`{"id":"j","action":"eaten","answer":"yes","by":"ann"}`: events.CodeInvalid,
	} {
		if fault := asked(body); fault == nil || fault.Code != code {
			t.Errorf("%s: %+v", body, fault)
		}
	}
	first, second := asked(`{"id":"j","request":"q","answer":"yes","by":"ann"}`), asked(`{"id":"j","request":"q","answer":"no","by":"ann"}`)
	if first != nil || second == nil || second.Code != events.CodeConflict && second.Code != events.CodeNotFound {
		t.Errorf("first %v, second %v", first, second)
	}
	// The same answer again gets the same reply, even if nothing is open any more; without the request id it is unknown which
	// question is meant.
	if answer, fault := w.ask("answer", `{"id":"j","request":"q","answer": "yes" ,"by":"ann"}`); fault != nil || !strings.Contains(answer, `"accepted":true`) {
		t.Error(answer, fault)
	}
}

// A request in a CloudEvent of structured mode is the request inside it; the same event is the same job.
func TestARequestMayComeInAStructuredCloudEvent(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	envelope := func(id string) string {
		return `{"specversion":"1.0","type":"com.example.job","source":"/shop","id":"` + id + `","datacontenttype":"application/json",` +
			`"data":{"goal":"g","plan":{"subjobs":[{"id":"a","goal":"x","expert":"noop"}]}}}`
	}
	var first, again, other struct {
		JobID     string `json:"job_id"`
		Duplicate bool   `json:"duplicate"`
	}
	for _, ask := range []struct {
		id string
		to any
	}{{"1", &first}, {"1", &again}, {"2", &other}} {
		answer, fault := w.ask("submit", envelope(ask.id))
		if fault != nil {
			t.Fatal(fault)
		}
		musttest.Decode(t, []byte(answer), ask.to)
	}
	if first.JobID != again.JobID || !again.Duplicate || first.JobID == other.JobID {
		t.Errorf("first %v, again %v, other %v", first, again, other)
	}
	w.Publish(w.Names.Request(), []byte(strings.Replace(envelope("3"), `"goal":"g"`, `"goal":"g","id":"queued"`, 1)))
	w.Ended("queued")
	w.Ended(first.JobID)
	w.Ended(other.JobID)
	for _, body := range []string{
		`{"specversion":"1.0","type":"t","source":"s","id":"4","goal":"g"}`,
		`{"specversion":"1.0","type":"t","source":"s","id":"4","data":"goal"}`,
	} {
		if answer, fault := w.ask("submit", body); fault == nil {
			t.Errorf("%s is taken: %s", body, answer)
		}
	}
}

// The text that makes a request too large is the one that is named.
func TestARequestThatIsTooLargeNamesItsLargestText(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	large := strings.Repeat("x", events.MaxMessage-32<<10)
	for field, body := range map[string]string{
		"goal":    `{"goal":"` + large + `"}`,
		"context": `{"goal":"g","context":"` + large + `"}`,
	} {
		if answer, fault := w.ask("submit", body); fault == nil || fault.Code != events.CodeTooLarge || !strings.Contains(answer, `"field":"`+field+`"`) {
			t.Errorf("%s: %v, %s", field, fault, answer)
		}
	}
}

// A dry run with wrong arguments is a usage error, and one of a missing job is not found.
func TestADryRunSaysWhatWasAskedWrongly(t *testing.T) {
	w := newWorkers(t, nil)
	for name, test := range map[string]struct {
		set  func(*Settings)
		code int
	}{
		"nothing to read":   {func(s *Settings) { s.DryRun = true }, host.ExitUsage},
		"nothing is dry":    {func(s *Settings) { s.From = "j" }, host.ExitUsage},
		"three partitions":  {func(s *Settings) { s.Partitions = 3 }, host.ExitUsage},
		"no such job":       {func(s *Settings) { s.DryRun, s.From = true, "nobody" }, host.ExitNotFound},
		"no such file":      {func(s *Settings) { s.DryRun, s.From = true, "./nobody.jsonl" }, host.ExitNotFound},
		"no file but a dir": {func(s *Settings) { s.DryRun, s.From = true, "." }, host.ExitFailure},
	} {
		s := Default()
		test.set(&s)
		err := w.schedule(s, Deps{Bus: w.Bus, Out: &bytes.Buffer{}}).Stop()
		if code := host.ExitCode(err); code != test.code {
			t.Errorf("%s: %d for %v, want %d", name, code, err, test.code)
		}
	}
}

// Before its first event a job has nothing to read, and a request that waits has no event at all: neither is passed over in silence.
func TestADryRunOfWhatHasNoEventsIsRefused(t *testing.T) {
	w := newWorkers(t, nil)
	w.Submit(events.Request{ID: "waits", Goal: "g", Plan: diamond()}) // No scheduler is there.
	dry := func(from string, until int) error {
		s := Default()
		s.DryRun, s.From, s.UntilSeq = true, from, until
		var out bytes.Buffer
		err := w.schedule(s, Deps{Bus: w.Bus, Out: &out}).Stop()
		if out.Len() > 0 {
			t.Errorf("%s prints %s", from, &out)
		}
		return err
	}
	if err := dry("waits", 0); host.ExitCode(err) != host.ExitNotFound || !strings.Contains(err.Error(), `job "waits" has no events yet`) {
		t.Errorf("a request that waits: %v", err)
	}
	scheduler := w.schedule(Default(), Deps{})
	for _, id := range []string{"first", "second"} {
		w.Submit(events.Request{ID: id, Goal: "g", Plan: diamond()})
		w.Ended(id)
	}
	musttest.Do(t, scheduler.Stop())
	err := dry("second", 1)
	if err == nil || host.ExitCode(err) != host.ExitUsage || !strings.Contains(err.Error(), "until-seq: 1 is before the first event of job second, which has sequence ") {
		t.Errorf("before the first event: %v", err)
	}
}

func TestADryRunPrintsTheCommandsOfARecordedJobAndPublishesNothing(t *testing.T) {
	w := newWorkers(t, nil)
	scheduler := w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "j", Goal: "g", Plan: diamond()})
	w.Ended("j")
	w.settled()
	musttest.Do(t, scheduler.Stop())
	x := musttest.Get(client.New(w.Bus).Archive().Export(t.Context(), "j", time.Now()))(t)
	path := t.TempDir() + "/job.jsonl"
	musttest.Do(t, x.Save(path))
	before := musttest.Get(w.Bus.Streams().Info(t.Context(), w.Names.Log))(t)
	for _, from := range []string{path, "j"} {
		var out bytes.Buffer
		s := Default()
		s.DryRun, s.From = true, from
		musttest.Do(t, w.schedule(s, Deps{Bus: w.Bus, Out: &out}).Stop())
		for _, want := range []string{`"event":"job.requested"`, `"subject":"jobs.work.default.noop.j.d.1"`, `job.finished`, `"command":"save"`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("from %s: no %s in:\n%s", from, want, out.String())
			}
		}
	}
	after, err := w.Bus.Streams().Info(t.Context(), w.Names.Log)
	if err != nil || after.LastSeq != before.LastSeq {
		t.Errorf("the log went from %d to %d: %v", before.LastSeq, after.LastSeq, err)
	}
}
