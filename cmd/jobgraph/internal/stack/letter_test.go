package stack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// letters returns the ids of all dead letters.
func (s *siege) letters() []string {
	s.Helper()
	list := musttest.Get(s.admin.DeadLetters().List(s.Context()))(s)
	ids := []string{}
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

// dead waits for a new dead letter of a kind, and returns its id.
func (s *siege) dead(kind string, before []string) (id string) {
	s.Helper()
	s.until("a dead letter of kind "+kind, func() bool {
		now := s.letters()
		at := slices.IndexFunc(now, func(id string) bool { return strings.HasPrefix(id, kind) && !slices.Contains(before, id) })
		if at >= 0 {
			id = now[at]
		}
		return at >= 0
	})
	return id
}

// lost is a message that became a dead letter, and the check that it was tried again.
type lost struct {
	id    string
	again func() bool
}

// hopeless returns the subject of a dead letter, in request.
func (s *siege) hopeless() victim {
	before := s.letters()
	s.publish(events.Message{Subject: "jobs.work.default.nonsense.0", Body: []byte(`{}`)})
	seq := strings.Split(s.dead("work:", before), ":")[1]
	return victim{request: "jobs.dlq.work." + seq + ".default"}
}

// publish publishes a message with every permission.
func (s *siege) publish(m events.Message) {
	s.Helper()
	musttest.Get(s.admin.Bus().Publish(s.Context(), m, bus.Expect{}))(s)
}

// overHTTP retries a dead letter at the gateway.
func (s *siege) overHTTP(id string) error {
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.stack.HTTP()+"/api/v1/dlq/"+id+"/retry", bytes.NewBufferString("{}"))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // The body was read.
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// With roles, an operator can retry every kind of dead letter, with a key and over HTTP; a person without that role cannot.
func TestEveryKindOfDeadLetterIsTriedAgainWithRoles(t *testing.T) {
	s := castle(t)
	olga, eve := s.enter("olga"), s.enter("eve")
	byKey := func(id string) error {
		d, err := olga.DeadLetters().Get(t.Context(), id)
		if err == nil {
			_, err = olga.DeadLetters().Retry(t.Context(), d)
		}
		return err
	}
	n := 0
	for kind, lose := range map[string]func(int) lost{"work": func(n int) lost {
		before := s.letters()
		subject := fmt.Sprintf("jobs.work.default.nonsense.%d", n)
		s.publish(events.Message{Subject: subject, Body: []byte(`{}`)})
		id := s.dead("work:", before)
		s.until("the end of "+id+" in its queue", func() bool { return s.last("JOBS_WORK", subject) == "" })
		before = s.letters()
		return lost{id, func() bool {
			now := s.letters()
			return !slices.Contains(now, id) && slices.ContainsFunc(now, func(id string) bool { return !slices.Contains(before, id) })
		}}
	}, "webhook": func(n int) lost {
		notice := bus.Notice{ID: fmt.Sprint("n", n), Job: "j", Seq: uint64(n), Target: "ops", Body: []byte(`{}`)}
		musttest.Do(s, s.enter("gateway").Bus().Webhooks().SetAside(s.Context(), notice, "it was not taken"))
		id := fmt.Sprintf("webhook:%d:ops", n)
		return lost{id, func() bool {
			return s.last("JOBS_WORK", fmt.Sprintf("jobs.work.~webhook.ops.j.~.%d", n)) != "" && !slices.Contains(s.letters(), id)
		}}
	}, "request": func(n int) lost {
		job, before, plan := fmt.Sprint("late", n), s.letters(), []byte(`{"subjobs":[{"id":"a","goal":"hello","expert":"Shout Expert"}]}`)
		ref, err := s.admin.Bus().Blobs().Put(s.Context(), job, plan)
		if err == nil {
			err = s.admin.Bus().Blobs().Delete(s.Context(), job)
		}
		request, wrong := json.Marshal(events.Request{ID: job, Goal: "hello", User: "boss", PlanRef: &ref})
		if err != nil || wrong != nil {
			s.Fatal(err, wrong)
		}
		musttest.Get(s.boss.Bus().Publish(s.Context(), events.Message{Subject: s.admin.Names().Request(), Body: request}, bus.Expect{}))(s)
		id := s.dead("request:", before)
		musttest.Get(s.admin.Bus().Blobs().Put(s.Context(), job, plan))(s)
		return lost{id, func() bool {
			return strings.Contains(s.last("JOBS", s.admin.Names().Event(job, events.KindJobRequested)), `"user":"boss"`) && !slices.Contains(s.letters(), id)
		}}
	}, "job": func(int) lost {
		v := s.queued()
		s.publish(events.Message{Subject: s.admin.Names().Control(v.job), Body: []byte(`{}`), Header: map[string][]string{
			events.HeaderSpec: {"1.0"}, events.HeaderID: {"x"}, events.HeaderType: {"io.jobgraph.doom.requested.v9"},
		}})
		s.until("the quarantine of "+v.job, func() bool {
			j, err := s.admin.Get(s.Context(), v.job)
			return err == nil && j.Quarantined != nil
		})
		return lost{v.job, func() bool { return strings.Contains(s.last("JOBS", s.admin.Names().Control(v.job)), `"by":`) }}
	}} {
		for way, retry := range map[string]func(string) error{"with a key": byKey, "over HTTP": s.overHTTP} {
			n++
			l := lose(n)
			if _, err := eve.DeadLetters().Retry(t.Context(), client.Dead{ID: l.id}); err == nil {
				t.Errorf("%s: a submitter has tried %s again", kind, l.id)
			}
			if err := retry(l.id); err != nil {
				t.Errorf("%s %s: %s is not tried again: %v", kind, way, l.id, err)
				continue
			}
			s.until(kind+" is tried again "+way, l.again)
		}
	}
}

// A request was refused because its sender may not act for that user. It is refused again, even if another retries it.
func TestARetryLendsNobodyAName(t *testing.T) {
	s := castle(t)
	before := s.letters()
	eve := s.enter("eve")
	musttest.Get(eve.Bus().Publish(t.Context(), events.Message{Subject: "jobs.request", Body: []byte(`{"id":"lent","goal":"g","expert":"Shout Expert","user":"boss"}`)}, bus.Expect{}))(t)
	id := s.dead("request:", before)
	if err := s.overHTTP(id); err == nil || !strings.Contains(err.Error(), "may not ask in the name of") {
		t.Errorf("it is tried again: %v", err)
	}
	if s.last("JOBS", s.admin.Names().Event("lent", events.KindJobRequested)) != "" {
		t.Error("the job of another was begun")
	}
}

// Dead letters with original subjects to which their runner may not publish, as it could forge them with the permissions of earlier releases:
// a retry does not publish them either. With those of this release it forges none.
func TestARetryPublishesNothingForARunner(t *testing.T) {
	s := castle(t)
	v := s.queued()
	mallory, earlier := s.attacker("mallory"), s.attacker("admin")
	for at, c := range []struct{ letter, subject string }{
		{"jobs.dlq.work.1.m", s.admin.Names().Event(v.job, events.KindJobFinished)},
		{"jobs.dlq.work.2.m", s.admin.Names().Control(v.job)},
		{"jobs.dlq.work.3.m", "jobs.work.default.shout-expert.forged.a.1"},
		{"jobs.dlq.work.4.m", "jobs.work.~webhook.m.forged.~.1"},
	} {
		mallory.say(c.letter, "forged", "Jobgraph-Subject", c.subject)
		mallory.say("jobs.card.m.~aside", fmt.Sprintf(`{"op":"aside","aside":{"subject":%q,"seq":%d}}`, c.subject, at+1))
		musttest.Do(t, mallory.nc.Flush())
		earlier.say(c.letter, `{"status":"FINISHED","forged":true}`, "Jobgraph-Subject", c.subject, "Jobgraph-Reason", "x")
		id := fmt.Sprintf("work:%d:m", at+1)
		s.until("the letter "+id, func() bool { return slices.Contains(s.letters(), id) })
		if err := s.overHTTP(id); err == nil || !strings.Contains(err.Error(), "cannot be tried again") {
			t.Errorf("%s: %v", c.subject, err)
		}
	}
	for _, letter := range []string{"jobs.dlq.work.5", "jobs.dlq.work.5.default", "jobs.dlq.request.5"} {
		mallory.say(letter, "forged")
	}
	musttest.Do(t, mallory.nc.Flush())
	s.passed()
	if ids := s.letters(); len(ids) != 4 || s.status(v).Terminal() {
		t.Errorf("set aside: %v; the job is %s", ids, s.status(v))
	}
}

// What cannot be tried again stays set aside, and the answer says why.
func TestARetrySaysWhyItIsRefused(t *testing.T) {
	s := castle(t)
	v := s.queued()
	n := s.admin.Names()
	set := func(letter, subject, body string, more ...string) {
		h := map[string][]string{"Jobgraph-Subject": {subject}, "Jobgraph-Reason": {"x"}}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = []string{more[i+1]}
		}
		s.publish(events.Message{Subject: "jobs.dlq." + letter, Body: []byte(body), Header: h})
	}
	waiting := n.WorkFor("idle", "x", "j", "a", 1)
	s.publish(events.Message{Subject: waiting, Body: []byte(`{}`)})
	set("work.7.idle", waiting, `{}`)
	set("fact.7", n.Event(v.job, events.KindInputClosed, v.request), `{}`)
	set("request.7", n.Request(), ``, "Jobgraph-Cut", "true")
	before := s.letters()
	for id, want := range map[string]string{
		"work:7:idle": "has a message that waits", "fact:7": "has no signature that counts", "request:7": "too large to be kept whole",
		"request:8": "nothing is set aside as", v.job: "is not in quarantine", "none": "no job",
	} {
		if err := s.overHTTP(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
	if after := s.letters(); len(after) != 3 || !slices.Equal(before, after) {
		t.Errorf("set aside: %v, before: %v", after, before)
	}
	if s.last("JOBS", n.Control(v.job)) != "" {
		t.Error("a job that is not in quarantine is resumed")
	}
}
