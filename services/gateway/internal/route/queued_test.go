package route_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// unread opens a site with a profile and without a scheduler, or with one that admits nothing.
func unread(t *testing.T, submit func([]byte) ([]byte, *events.Fault)) *site {
	t.Helper()
	return open(t, answers{
		"submit": submit,
		"profiles": func([]byte) ([]byte, *events.Fault) {
			return []byte(`{"profiles":[{"name":"default","about":"D","default":true}]}`), nil
		},
	}, nil)
}

// refused is the refusal of a message that waits in the queue.
type refused struct {
	Error struct{ Message, Code string }
}

// queued sends a message and returns the job that waits for it, and the refusal.
func (s *site) queued(path, body, session string) (job string, answer reply, told refused) {
	s.Helper()
	r := s.request(verb.Submitter, http.MethodPost, path, body)
	if session != "" {
		r.Header.Set("Jobgraph-Session", session)
	}
	ctx, stop := context.WithTimeout(r.Context(), musttest.Patience) // Without a refusal it would wait for ever.
	defer stop()
	answer, text := s.do(r.WithContext(ctx))
	if err := json.Unmarshal([]byte(text), &told); err != nil || answer.StatusCode != http.StatusServiceUnavailable || told.Error.Code != "unavailable" || answer.Header.Get("Retry-After") == "" {
		s.Fatalf("%s: %d %v %s", body, answer.StatusCode, answer.Header, text)
	}
	return answer.Header.Get("Jobgraph-Job"), answer, told
}

// A message that no scheduler reads is refused soon, before a stream begins. It waits in the queue as a job of POST /api/v1/jobs does,
// and sent again it is the same job.
func TestAMessageThatNoSchedulerReadsIsRefusedSoon(t *testing.T) {
	t.Parallel()
	s := unread(t, nil)
	const past = `{"role":"user","content":"a"},{"role":"assistant","content":"b"},`
	for _, c := range [][2]string{
		{"/v1/chat/completions", `{"model":"default","messages":[{"role":"user","content":"one"}]}`},
		{"/v1/chat/completions", `{"model":"default","messages":[` + past + `{"role":"user","content":"two"}]}`},
		{"/v1/responses", `{"model":"default","input":"three"}`},
	} {
		job, _, told := s.queued(c[0], c[1], "")
		if job == "" || !strings.Contains(told.Error.Message, "no scheduler has read the message, which waits in the queue as job "+job) || !strings.Contains(told.Error.Message, "start one: jobgraph up") {
			t.Errorf("%s: job %q: %s", c[1], job, told.Error.Message)
		}
		streamed := strings.Replace(c[1], `{"model"`, `{"stream":true,"model"`, 1)
		if again, answer, _ := s.queued(c[0], streamed, ""); again != job || answer.Header.Get("X-Should-Retry") != "" {
			t.Errorf("%s: sent again it is job %s, not %s", c[1], again, job)
		}
	}
	if _, text := s.do(s.request(verb.Submitter, http.MethodPost, "/api/v1/jobs", `{"goal":"four"}`)); !strings.Contains(text, `"admitted":false`) {
		t.Errorf("a job in the same state: %s", text)
	}
}

// In a session that the client names a message is not known again, so that a repeat would be another job.
func TestAMessageOfANamedSessionIsNotSentAgainByItself(t *testing.T) {
	t.Parallel()
	s := unread(t, nil)
	_, answer, told := s.queued("/v1/chat/completions", `{"model":"default","messages":[{"role":"user","content":"one"}]}`, "s1")
	if answer.Header.Get("X-Should-Retry") != "false" || !strings.Contains(told.Error.Message, "do not send it again") {
		t.Errorf("%v %s", answer.Header, told.Error.Message)
	}
}

// A scheduler that admits nothing for now says why, and the client hears it.
func TestAMessageThatWaitsForRoomIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	s := unread(t, func([]byte) ([]byte, *events.Fault) {
		return nil, &events.Fault{Code: events.CodeUnavailable, Message: "no job is admitted now", Cause: "the log is full"}
	})
	if job, _, told := s.queued("/v1/responses", `{"model":"default","input":"one"}`, ""); !strings.Contains(told.Error.Message, "the message waits in the queue as job "+job+": the log is full") {
		t.Error(told.Error.Message)
	}
}

// A scheduler that comes back in time answers the message as if it had always been there.
func TestAMessageIsAnsweredWhenTheSchedulerComesBackInTime(t *testing.T) {
	t.Parallel()
	k := &talks{}
	var asked atomic.Int32
	k.site = unread(t, func(body []byte) ([]byte, *events.Fault) {
		if asked.Add(1) <= 2 {
			return nil, &events.Fault{Code: events.CodeUnavailable, Message: "not yet"}
		}
		return k.submit(body)
	})
	k.play = func(r *events.Request) { k.finish(r.ID, "done") }
	if text := k.chat(verb.Submitter, "go"); text != "done" || asked.Load() != 3 {
		t.Errorf("%q after %d requests", text, asked.Load())
	}
}

// Without a planner a profile is unknown; the refusal names the service that is missing.
func TestAProfileWithoutAPlannerNamesTheMissingService(t *testing.T) {
	t.Parallel()
	s := open(t, answers{"profiles": nil}, nil)
	if status, body := s.ask(verb.Submitter, http.MethodPost, chatPath, chatBody("default", false, "go")); status != http.StatusServiceUnavailable || !strings.Contains(body, "no planner answers on jobs.api.profiles") {
		t.Errorf("%d %s", status, body)
	}
}

// Where the bus has roles, a scheduler writes what the gateway notes, so that nothing can be noted without one: a message that waits is known
// by its id, also when it has been admitted since, until its answer was delivered.
func TestAMessageThatWaitedIsTheSameJobWithoutANote(t *testing.T) {
	t.Parallel()
	k := &talks{}
	k.site = open(t, answers{
		"submit": nil, "inputs": func([]byte) ([]byte, *events.Fault) { return []byte(`{"inputs":[]}`), nil },
		"profiles": func([]byte) ([]byte, *events.Fault) {
			return []byte(`{"profiles":[{"name":"default","about":"D","default":true}]}`), nil
		},
	}, nil)
	body := chatBody("default", false, "go")
	job, _, _ := k.queued(chatPath, body, "")
	notes := musttest.Get(k.bus.Sessions().Under(t.Context(), "chats"))(t)
	if again, _, _ := k.queued(chatPath, body, ""); again != job || len(notes) > 0 {
		t.Errorf("sent again it is job %s, not %s; noted %v", again, job, notes)
	}
	var waits int
	for m, err := range k.bus.Log().Requests(t.Context()) {
		r, faults := events.DecodeRequest(m.Body)
		if err != nil || len(faults) > 0 || r.ID != job || r.Session != job {
			t.Errorf("%s waits: %v %v", m.Body, err, faults)
		}
		if waits++; waits == 1 {
			k.begin(&r) // A scheduler is back.
			k.finish(job, "one")
			k.requests = append(k.requests, r)
		}
	}
	k.play = func(r *events.Request) { k.finish(r.ID, "two") }
	stop := musttest.Get(k.bus.Services().Serve("jobgraph-scheduler", "", nil, map[string]bus.Endpoint{
		"submit": func(_ context.Context, body []byte) ([]byte, *events.Fault) { return k.submit(body) },
	}, verb.Metadata))(t)
	defer stop()
	if other := k.chat(verb.Admin, "go"); other != "two" {
		t.Errorf("another user got %q", other)
	}
	if text, next := k.chat(verb.Submitter, "go"), k.chat(verb.Submitter, "go"); text != "one" || next != "two" || waits != 1 {
		t.Errorf("the message got %q, then %q, after %d requests in the queue", text, next, waits)
	}
}
