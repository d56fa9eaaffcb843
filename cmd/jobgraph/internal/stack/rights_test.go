package stack_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// working returns a job of sam in a session, whose work waits for a runner that never comes.
func (s *siege) working() victim {
	s.Helper()
	v := s.unserved()
	v.session, v.request = "s-"+rand.Text(), "q"
	r := events.Request{ID: v.job, Goal: "pay", User: "sam", Session: v.session, Plan: json.RawMessage(`{"subjobs":[{"id":"a","goal":"wait","expert":"` + v.pool + `"}]}`)}
	if _, err := s.admin.Submit(s.Context(), r); err != nil {
		s.Fatal(err)
	}
	s.issued(v)
	return v
}

// approve has the run of a job ask for an approval.
func (s *siege) approve(v victim) {
	s.Helper()
	m, err := events.Encode(s.admin.Names(), events.Event{
		ID: "question", Source: "a-worker", Kind: events.KindInputRequested, Job: v.job, SubJob: v.subjob, Run: 1, Pool: v.pool,
		Data: &events.InputRequested{Request: v.request, Kind: events.InputApproval, Prompt: "Pay?"},
	})
	if err != nil {
		s.Fatal(err)
	}
	s.publish(m)
	s.until("the question", func() bool { return s.asks(v) })
}

// approving returns a job of sam that asks for an approval, with a message to its session that the gateway has signed for a submitter.
func (s *siege) approving() victim {
	s.Helper()
	v := s.working()
	s.approve(v)
	v.message = s.passedOn(`{"goal":"yes","user":"sam","session":"`+v.session+`"}`, verb.Submitter)
	return v
}

// passedOn returns a request that the gateway has signed for a user with a right.
func (s *siege) passedOn(body string, right verb.Role) events.Message {
	s.Helper()
	m := events.Message{Subject: s.admin.Names().Request(), Header: map[string][]string{}, Body: []byte(body)}
	seal.Narrow(m.Header, []string{string(right)})
	if s.layout == nil {
		return m
	}
	key, err := seal.Read(musttest.Read(s, s.options("gateway").NKey))
	if err == nil {
		err = key.Seal(&m, time.Now())
	}
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// samMay returns the token of sam with one role.
func samMay(role verb.Role) string { return "token-of-sam-as-" + string(role) }

// message sends a message of sam to a session over HTTP.
func (s *siege) message(role verb.Role, session, text string) (status int, receipt client.Receipt) {
	s.Helper()
	body := musttest.JSON(s, events.Request{Goal: text, Session: session})
	r := musttest.Get(http.NewRequestWithContext(s.Context(), http.MethodPost, s.stack.HTTP()+"/api/v1/jobs", bytes.NewReader(body)))(s)
	r.Header.Set("Authorization", "Bearer "+samMay(role))
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body was read.
	said, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(said, &receipt)
	}
	if err != nil {
		s.Fatalf("%s: %s %v", answer.Status, said, err)
	}
	return answer.StatusCode, receipt
}

// closed waits until the scheduler admits requests, or does not.
func (s *siege) closed(want bool) {
	s.Helper()
	s.until("the admission of requests", func() bool {
		why, err := client.SupplyOf(s.admin).Admission(s.Context())
		return err == nil && (why != nil) == want
	})
}

// A message of a submitter comes to the scheduler after the question, which is asked when the gateway has seen none in its session: the log
// is full meanwhile, so that the message waits in the queue.
func TestAMessageOfASubmitterIsNoApprovalThatIsAskedForMeanwhile(t *testing.T) {
	tokens := musttest.Temp(t, "tokens.yaml", "version: 1\ntokens:\n  - {user: sam, roles: [submitter], token: "+samMay(verb.Submitter)+"}\n  - {user: sam, roles: [submitter, approver], token: "+samMay(verb.Approver)+"}\n")
	env := func(name string) (value string, ok bool) {
		value, ok = map[string]string{"JOBGRAPH_TOKENS": tokens, "JOBGRAPH_INTAKE_HIGH_WATER": "1"}[name]
		return value, ok
	}
	for name, start := range map[string]func(*testing.T) *siege{
		"with roles": func(t *testing.T) *siege { return castleIn(t, env) }, "without roles": func(t *testing.T) *siege { return villageIn(t, env, "127.0.0.1:0") },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			for _, role := range []verb.Role{verb.Submitter, verb.Approver} {
				v := s.working()
				for range 3 {
					s.publish(events.Message{Subject: "jobs.event.none", Body: bytes.Repeat([]byte("x"), 400<<10)})
				}
				s.closed(true)
				status, waits := s.message(role, v.session, "yes")
				if status != http.StatusAccepted {
					t.Fatalf("%d %+v", status, waits)
				}
				s.approve(v)
				musttest.Do(t, s.admin.Bus().Streams().Purge(t.Context(), "JOBS", "jobs.event.none"))
				s.closed(false)
				s.until("the message", func() bool {
					_, err := s.admin.Get(t.Context(), waits.JobID)
					return err == nil || !s.asks(v)
				})
				if answered := !s.asks(v); answered != (role == verb.Approver) {
					t.Errorf("a message of a %s has approved: %v", role, answered)
				}
			}
		})
	}
}

// Scheduler and planner carry out what the gateway asks only with the rights of its user.
func TestARequestOfTheGatewayHasTheRightsOfItsUser(t *testing.T) {
	s := castle(t)
	v, gateway := s.approving(), s.enter("gateway")
	n := gateway.Names()
	for what, c := range map[string]struct{ verb, body string }{
		"an approval":      {"answer", `{"id":"` + v.job + `","request":"q","answer":{"approved":true},"by":"sam"}`},
		"a stop":           {"stop", `{"id":"` + v.job + `","by":"eve"}`}, // It is sam's.
		"a plan operation": {"plan.mark_step", `{"plan_id":"job:` + v.job + `","step_id":"a","step_status":"completed","by":"sam"}`},
	} {
		ask := func(rights ...string) *events.Fault {
			_, fault, err := gateway.Bus().Services().Request(bus.WithRights(t.Context(), rights...), n.API(c.verb), []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			return fault
		}
		for _, rights := range [][]string{{"submitter"}, {"viewer"}, {}, {"none"}} {
			if fault := ask(rights...); fault == nil || fault.Code != events.CodeNotPermitted || !strings.Contains(fault.Message, "a user of gateway may") {
				t.Errorf("%s with %q: %v", what, rights, fault)
			}
		}
	}
	if !s.asks(v) || s.status(v).Terminal() {
		t.Error("a request without the right has taken effect")
	}
	ctx := bus.WithRights(t.Context(), "submitter")
	receipt, err := gateway.Ask(ctx, events.Request{Goal: "yes", Session: v.session, User: "sam"})
	if err != nil || receipt.Answered != "" || receipt.Unanswered == nil || receipt.Unanswered.Request != v.request || receipt.Unanswered.Reason != "a user of gateway may not approve actions" {
		t.Errorf("a message of a submitter: %+v %v", receipt, err)
	}
	if err := gateway.Answer(bus.WithRights(t.Context(), "approver"), v.job, v.request, map[string]bool{"approved": true}, "sam"); err != nil {
		t.Errorf("an approver does not approve: %v", err)
	}
	if _, fault, err := gateway.Bus().Services().Request(ctx, n.API("stop"), []byte(`{"id":"`+v.job+`","by":"sam"}`)); fault != nil || err != nil || s.status(v) != events.Stopped {
		t.Errorf("sam does not stop his own job: %v %v", fault, err)
	}
}

// A message that was set aside keeps the rights of its sender, even if an admin tries it again.
func TestARetryLendsNobodyARight(t *testing.T) {
	s := castle(t)
	for seq, c := range []struct {
		right verb.Role
		want  bool // It is an answer.
	}{{verb.Submitter, false}, {verb.Approver, true}} {
		v := s.approving() // In a session of its own: the message of the submitter becomes a job, which may ask something itself.
		m := s.passedOn(string(v.message.Body), c.right)
		id := bus.DeadRequest + ":" + string(rune('7'+seq))
		m.Header["Jobgraph-Subject"], m.Header["Jobgraph-Reason"], m.Header["Jobgraph-Stored"] = []string{m.Subject}, []string{"x"}, []string{time.Now().Format(time.RFC3339Nano)}
		m.Subject = "jobs.dlq." + strings.Replace(id, ":", ".", 1)
		s.publish(m)
		musttest.Do(t, s.overHTTP(id))
		if c.want {
			s.until("the answer of the "+string(c.right), func() bool { return !s.asks(v) })
		} else if s.passed(); !s.asks(v) {
			t.Errorf("a %s has answered", c.right)
		}
	}
}
