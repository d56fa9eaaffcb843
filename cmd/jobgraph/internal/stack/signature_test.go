package stack_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
)

// An event that someone with every permission writes by hand has no signature: it changes nothing, becomes a dead letter with the
// reason, and does not take the place of the true one.
func TestOnlySignedAnswersAndStopsCount(t *testing.T) {
	s := castle(t)
	v, admin := s.asking(), s.attacker("admin")
	admin.forge(events.Event{Kind: events.KindInputClosed, Job: v.job, Key: v.request, Data: &events.InputClosed{Action: events.Answered, Answer: []byte(`"forged"`), By: "boss"}})
	admin.forge(events.Event{Kind: events.KindStopRequested, Job: v.job, Data: &events.StopRequested{By: "boss"}})
	s.passed()
	if !s.asks(v) || s.status(v).Terminal() {
		t.Errorf("job is %s, asks: %t", s.status(v), s.asks(v))
	}
	dead, err := s.admin.DeadLetters().List(t.Context())
	if err != nil || len(dead) != 2 {
		t.Fatalf("%+v, %v", dead, err)
	}
	for _, d := range dead {
		if d.Kind != bus.DeadFact || d.Fault.Code != events.CodeNotPermitted || !strings.Contains(d.Fault.Message, "no signature") {
			t.Errorf("%+v", d)
		}
		if _, err := s.admin.DeadLetters().Retry(t.Context(), d); !errors.Is(err, client.ErrConflict) {
			t.Errorf("retry: %v", err)
		}
	}
	musttest.Do(t, s.boss.Answer(t.Context(), v.job, v.request, "go ahead", ""))
	end, err := s.boss.Wait(t.Context(), v.job)
	if err != nil || end.Status != events.Finished || !strings.Contains(string(end.Result), "go ahead") {
		t.Errorf("%+v, %v", end, err)
	}
	closed, err := s.admin.Bus().Streams().LastOn(t.Context(), "JOBS", s.admin.Names().Event(v.job, events.KindInputClosed, v.request))
	if err != nil || !strings.Contains(string(closed.Body), `"by":"boss"`) {
		t.Errorf("the answer is %s, %v", closed.Body, err)
	}
}

// A submitter stops their own jobs, and an operator those of others.
func TestASubmitterStopsTheirOwnJobs(t *testing.T) {
	s := castle(t)
	v := s.queued()
	if err := s.enter("eve").Stop(t.Context(), v.job, events.StopRequested{}); err == nil || s.status(v).Terminal() {
		t.Errorf("eve stops the job of the boss: %v", err)
	}
	eve := s.enter("eve").Bus()
	for id, want := range map[string]events.Code{"*": events.CodeInvalid, "none": events.CodeNotFound} {
		if _, fault, err := eve.Services().Request(t.Context(), eve.Names().API("stop"), []byte(`{"id":"`+id+`"}`)); err != nil || fault == nil || fault.Code != want {
			t.Errorf("eve stops %s: %v %v, want %s", id, fault, err, want)
		}
	}
	if err := s.boss.Stop(t.Context(), v.job, events.StopRequested{}); err != nil {
		t.Errorf("the boss stops his own job: %v", err)
	}
	v = s.queued()
	if err := s.enter("olga").Stop(t.Context(), v.job, events.StopRequested{By: "boss"}); err == nil {
		t.Error("an operator stops in the name of another")
	}
	if err := s.enter("olga").Stop(t.Context(), v.job, events.StopRequested{}); err != nil {
		t.Errorf("an operator stops the job of another: %v", err)
	}
	log, err := s.admin.Logs().Fold(t.Context(), v.job, 0)
	if err != nil || log.Job.Error == nil || !strings.Contains(log.Job.Error.Message, "by olga") {
		t.Errorf("%+v, %v", log.Job, err)
	}
}

// The planner carries out a plan operation only for a user of the key that signed it.
func TestAPlanOperationIsInTheNameOfItsKey(t *testing.T) {
	s := castle(t)
	v, olga := s.queued(), s.enter("olga")
	operation := client.PlanOperation{Command: "mark_step", PlanID: "job:" + v.job, StepID: v.subjob, StepStatus: "completed", By: "boss"}
	if _, err := olga.Plan(t.Context(), operation); !errors.Is(err, bus.ErrNotPermitted) || !strings.Contains(err.Error(), `may not ask in the name of "boss"`) {
		t.Errorf("an operator changes a plan in the name of another: %v", err)
	}
	by := s.attacker("olga")
	by.say("jobs.api.plan.mark_step", `{"plan_id":"job:`+v.job+`","step_id":"`+v.subjob+`","step_status":"completed"}`)
	by.say("jobs.api.plan.create", `{"plan_id":"unsigned","title":"x","steps":["y"]}`)
	s.passed()
	if plans, err := s.admin.Plan(t.Context(), client.PlanOperation{Command: "list"}); err != nil || s.status(v).Terminal() || strings.Contains(plans.Text, "unsigned") {
		t.Errorf("the job is %s; the plans are %s, %v", s.status(v), plans.Text, err)
	}
	operation.By = ""
	musttest.Get(olga.Plan(t.Context(), operation))(t)
	if edit := s.last("JOBS", s.admin.Names().Control(v.job)); !strings.Contains(edit, `"by":"olga"`) {
		t.Errorf("the plan was edited so: %s", edit)
	}
}

// A person who may not approve can answer questions, except those that permit an action.
func TestAnApprovalTakesAnApprover(t *testing.T) {
	s := castle(t)
	for _, kind := range []events.InputKind{events.InputClarification, events.InputApproval} {
		v := s.queued()
		v.request = "q"
		s.attacker("admin").forge(events.Event{Kind: events.KindInputRequested, Job: v.job, SubJob: v.subjob, Run: 1, Data: &events.InputRequested{Request: v.request, Kind: kind}})
		s.until("the question", func() bool { return s.asks(v) })
		err := s.enter("eve").Answer(t.Context(), v.job, v.request, "yes", "")
		if kind == events.InputClarification && err != nil {
			t.Errorf("a submitter answers a question: %v", err)
		}
		if kind == events.InputApproval && (err == nil || !s.asks(v)) {
			t.Errorf("a submitter approves: %v", err)
		}
		if err := s.boss.Answer(t.Context(), v.job, v.request, "yes", ""); kind == events.InputApproval && err != nil {
			t.Errorf("an approver approves: %v", err)
		}
	}
}

// A job is exported and imported with its answers: the importer signs for what the file says.
func TestAnImportKeepsAnswers(t *testing.T) {
	s := castle(t)
	v := s.asking()
	musttest.Do(t, s.boss.Answer(t.Context(), v.job, v.request, "go ahead", ""))
	musttest.Get(s.boss.Wait(t.Context(), v.job))(t)
	before := musttest.Get(s.admin.Logs().Fold(t.Context(), v.job, 0))(t)
	file, err := s.admin.Archive().Export(t.Context(), v.job, time.Now())
	if err == nil {
		err = s.admin.Delete(t.Context(), v.job)
	}
	if err == nil {
		err = s.admin.Archive().Import(t.Context(), file)
	}
	if err != nil {
		t.Fatal(err)
	}
	after, err := s.admin.Logs().Fold(t.Context(), v.job, 0)
	if err != nil || after.Job.Status != before.Job.Status || after.Job.Status != events.Finished {
		t.Errorf("the job is %s after the import, was %s: %v", after.Job.Status, before.Job.Status, err)
	}
	s.passed()
	if dead, err := s.admin.DeadLetters().List(t.Context()); err != nil || len(dead) != 0 {
		t.Errorf("set aside: %+v, %v", dead, err)
	}
}

// A request names its user where everyone who reads it finds the same one. What follows its end is read by some and not by others, and the
// request of a schedule has a user of its own.
func TestARequestNamesNobodyButTheUserOfItsKey(t *testing.T) {
	s := castle(t)
	v := s.asking()
	for _, c := range []struct{ by, verb, body string }{
		{"eve", "answer", `{"id":"` + v.job + `","request":"` + v.request + `","answer":"yes","by":"boss"} x`},
		{"eve", "sessions.rename", `{"id":"` + v.session + `","user":"boss","title":"hers"} x`},
		{"eve", "users.set", `{"user":"boss","timezone":"Asia/Tokyo"}{}`},
		{"olga", "schedule.create", `{"id":"hers","schedule":{"interval_minutes":60},"request":{"goal":"x","expert":"Shout Expert","user":"boss","session":"` + v.session + `"}}`},
	} {
		b := s.enter(c.by).Bus()
		answer, fault, err := b.Services().Request(t.Context(), b.Names().API(c.verb), []byte(c.body))
		if fault == nil || err != nil {
			t.Errorf("%s in the name of the boss: %s %v", c.verb, answer, err)
		}
	}
	olga := s.enter("olga").Bus()
	made, fault, err := olga.Services().Request(t.Context(), olga.Names().API("schedule.create"), []byte(`{"id":"own","schedule":{"interval_minutes":60},"request":{"goal":"x","expert":"Shout Expert"}}`))
	if fault != nil || err != nil || !strings.Contains(string(made), `"user":"olga"`) {
		t.Errorf("her own schedule: %s %v %v", made, fault, err)
	}
	if !s.asks(v) {
		t.Error("the question of the boss is answered")
	}
}

// written returns a request that the boss has signed.
func (s *siege) written(body string) events.Message {
	s.Helper()
	m := events.Message{Subject: s.admin.Names().Request(), Header: map[string][]string{}, Body: []byte(body)}
	key, err := seal.Read(musttest.Read(s, s.options("boss").NKey))
	if err == nil {
		err = key.Seal(&m, time.Now())
	}
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// A stop of a job whose request still waits in the queue admits the job in the name of its sender.
func TestAJobThatIsStoppedInTheQueueIsThatOfItsSender(t *testing.T) {
	s := castleIn(t, func(name string) (value string, ok bool) { return "1", name == "JOBGRAPH_INTAKE_HIGH_WATER" })
	for range 3 {
		s.publish(events.Message{Subject: "jobs.event.none", Body: bytes.Repeat([]byte("x"), 400<<10)})
	}
	s.closed(true)
	boss := s.attacker("boss")
	boss.send(s.written(`{"id":"waits","goal":"once","expert":"Shout Expert"}`))
	s.until("the request", func() bool { return s.last("JOBS_INTAKE", "jobs.request") != "" })
	musttest.Do(t, s.enter("olga").Stop(t.Context(), "waits", events.StopRequested{}))
	s.stopped("waits", "boss")

	boss.send(s.written(`{"id":"own","goal":"once","expert":"Shout Expert"}`))
	s.until("the request", func() bool { return strings.Contains(s.last("JOBS_INTAKE", "jobs.request"), `"own"`) })
	if err := s.enter("eve").Stop(t.Context(), "own", events.StopRequested{}); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("another submitter stops it: %v", err)
	}
	musttest.Do(t, s.boss.Stop(t.Context(), "own", events.StopRequested{}))
	s.stopped("own", "boss")
}

// stopped checks that a job of a user has been stopped.
func (s *siege) stopped(job, user string) {
	s.Helper()
	log, err := s.admin.Logs().Fold(s.Context(), job, 0)
	if err != nil || log.Request() == nil || log.Request().Request.User != user || log.Job.Status != events.Stopped {
		s.Errorf("%s: %+v, %v", job, log.Request(), err)
	}
}

// Everyone who reads the queue may send a request again that another has signed, with other headers than those that are signed: it is the same job.
func TestASignedRequestIsOneJobHoweverOftenOthersSendIt(t *testing.T) {
	s := castle(t)
	m := s.written(`{"goal":"once","expert":"Shout Expert"}`)
	text := m.Get(seal.Header)
	same := text[:len(text)-1] + string(text[len(text)-1]+1) // Its last letter has bits that mean nothing.
	s.attacker("boss").send(m)
	eve := s.attacker("eve")
	for _, header := range [][2]string{{"X", "y"}, {events.HeaderMsgID, "again"}, {events.HeaderSource, "elsewhere"}, {seal.Header, same}} {
		again := m
		again.Header = maps.Clone(m.Header)
		again.Header[header[0]] = []string{header[1]}
		eve.send(again)
	}
	musttest.Do(t, eve.nc.Flush())
	s.until("the end of the queue", func() bool {
		queue, err := s.admin.Bus().Streams().Info(t.Context(), s.admin.Names().Intake)
		return err == nil && queue.LastSeq >= 5 && queue.Messages == 0
	})
	log := musttest.Get(s.admin.Bus().Streams().Info(t.Context(), s.admin.Names().Log))(t)
	n := 0
	for _, err := range s.admin.Bus().Log().Requested(t.Context(), 1, log.LastSeq) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// A client may store payloads and remove none. What it has stored for a request that is refused, a scheduler removes, but not what others
// store for requests of theirs.
func TestPayloadsOfARefusedRequestAreRemovedWithRoles(t *testing.T) {
	s := castle(t)
	v, eve, own := s.asking(), s.enter("eve"), musttest.Get(client.NewOwnID())(t)
	attach := func(c *client.Client, id string) events.Request {
		ref := musttest.Get(c.Attach(t.Context(), id, "a.txt", strings.NewReader("attached")))(t)
		return events.Request{ID: id, Goal: "x", Session: v.session, Attachments: []events.Ref{ref}}
	}
	payloads := func(id string) int { return len(musttest.Get(s.admin.Bus().Blobs().List(t.Context(), id))(t)) }
	theirs := musttest.Get(client.NewOwnID())(t)
	r, foreign := attach(eve, own.String()), attach(s.boss, theirs.String())
	if err := eve.Bus().Blobs().Delete(t.Context(), theirs.String()); !errors.Is(err, bus.ErrNotPermitted) {
		t.Errorf("eve removes payloads: %v", err)
	}
	if _, err := eve.Ask(own.With(t.Context()), foreign); !errors.Is(err, bus.ErrNotPermitted) || payloads(theirs.String()) != 1 {
		t.Errorf("eve sends a request with the id of the boss: %v, %d payloads are left", err, payloads(theirs.String()))
	}
	if _, err := eve.Ask(own.With(t.Context()), r); !errors.Is(err, bus.ErrNotPermitted) || payloads(own.String()) != 0 {
		t.Errorf("eve sends a request for the session of the boss: %v, %d payloads are left", err, payloads(own.String()))
	}
	if err := eve.Delete(t.Context(), theirs.String()); !errors.Is(err, bus.ErrNotPermitted) || payloads(theirs.String()) != 1 {
		t.Errorf("eve deletes the payloads of the boss: %v", err)
	}
	if err := s.enter("olga").Delete(t.Context(), theirs.String()); err != nil || payloads(theirs.String()) != 0 {
		t.Errorf("an operator deletes payloads without a job: %v, %d are left", err, payloads(theirs.String()))
	}
}
