package route_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Profiles are models, the default one first, and so are experts that a plan may use.
func TestModelsAreProfilesAndExperts(t *testing.T) {
	k := talk(t, nil)
	status, body := k.ask(verb.Viewer, http.MethodGet, "/v1/models", "")
	var list verb.ModelList
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || list.Object != "list" {
		t.Fatalf("%d %s %v", status, body, err)
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID+"="+m.Kind)
	}
	if got := strings.Join(ids, " "); got != "default=profile assistant=profile expert:default=expert scribe=expert" {
		t.Error(got)
	}
	for id, want := range map[string]string{"scribe": "scribe", "The Scribe": "scribe", "the%20scribe": "scribe", "expert:scribe": "scribe", "profile:default": "default", "expert:default": "expert:default", "odd": "expert:default"} {
		status, body := k.ask(verb.Viewer, http.MethodGet, "/v1/models/"+strings.ReplaceAll(id, " ", "%20"), "")
		if status != http.StatusOK || !strings.Contains(body, `"id":"`+want+`"`) {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
	k.refused(k.request(verb.Viewer, http.MethodGet, "/v1/models/ghost", ""), http.StatusNotFound, "model_not_found")
	k.play = func(r *events.Request) { k.finish(r.ID, "done") }
	for model, want := range map[string]events.Request{"assistant": {Profile: "assistant"}, "expert:default": {Expert: "default"}, "The Scribe": {Expert: "scribe"}} {
		if status, body := k.ask(verb.Submitter, http.MethodPost, chatPath, chatBody(model, false, "go")); status != http.StatusOK {
			t.Errorf("%s: %d %s", model, status, body)
		}
		if r, _ := k.last(); r.Profile != want.Profile || r.Expert != want.Expert {
			t.Errorf("%s: %+v", model, r)
		}
	}
}

// Without a planner, experts can still be used, and a profile is not reported as missing.
func TestExpertsAnswerWhileThePlannerIsAway(t *testing.T) {
	s := open(t, answers{"profiles": func([]byte) ([]byte, *events.Fault) {
		return nil, &events.Fault{Code: events.CodeUnavailable, Message: "away", Hint: "wait"}
	}}, nil)
	s.refused(s.request(verb.Viewer, http.MethodGet, "/v1/models", ""), http.StatusServiceUnavailable, events.CodeUnavailable)
	musttest.Get(s.bus.Experts().Put(t.Context(), "scribe", []byte(`{"id":"scribe","name":"Scribe"}`), 0))(t)
	if status, body := s.ask(verb.Viewer, http.MethodGet, "/v1/models", ""); status != http.StatusOK || !strings.Contains(body, `"id":"scribe"`) {
		t.Errorf("%d %s", status, body)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/v1/models/default", ""), http.StatusServiceUnavailable, events.CodeUnavailable)
}

func TestARefusalIsOneOfTheAPI(t *testing.T) {
	k := talk(t, func(g *routeSettings) { g.Streams = 0 })
	good := chatBody("default", false, "go")
	for _, test := range []struct {
		role         verb.Role
		method, path string
		body         string
		status       int
		code         events.Code
	}{
		{"", "POST", chatPath, good, 401, events.CodeUnauthenticated},
		{verb.Viewer, "POST", chatPath, good, 403, events.CodeNotPermitted},
		{verb.Operator, "POST", chatPath, good, 403, events.CodeNotPermitted},
		{verb.Submitter, "POST", chatPath, good, 429, events.CodeTooMany},
		{verb.Submitter, "POST", chatPath, "{", 400, events.CodeMalformed},
		{verb.Submitter, "POST", chatPath, `{"model":7}`, 400, events.CodeMalformed},
		{verb.Submitter, "POST", chatPath, chatBody("", false, "go"), 400, events.CodeMissing},
		{verb.Submitter, "POST", chatPath, chatBody("gpt", false, "go"), 404, "model_not_found"},
		{verb.Submitter, "POST", chatPath, chatBody("default", false), 400, events.CodeMissing},
		{verb.Submitter, "POST", chatPath, chatBody("default", false, strings.Repeat("x", 70<<10)), 413, events.CodeTooLarge},
		{verb.Submitter, "GET", chatPath, "", 405, events.CodeInvalid},
		{verb.Submitter, "GET", "/v1/files", "", 404, events.CodeNotFound},
	} {
		k.refused(k.request(test.role, test.method, test.path, test.body), test.status, test.code)
	}
	if len(k.requests) != 0 {
		t.Errorf("%d jobs were made", len(k.requests))
	}
}

// A client may name its session, and may repeat a request with a key.
func TestAClientNamesItsSessionAndItsMessage(t *testing.T) {
	k := talk(t, nil)
	k.play = func(r *events.Request) { k.finish(r.ID, "done") }
	send := func(body string, header ...string) events.Request {
		t.Helper()
		r := k.request(verb.Submitter, http.MethodPost, chatPath, body)
		for n := 0; n < len(header); n += 2 {
			r.Header.Set(header[n], header[n+1])
		}
		if answer, text := k.do(r); answer.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", answer.StatusCode, text)
		}
		last, _ := k.last()
		return last
	}
	if r := send(chatBody("default", false, "a", "b", "c"), "Jobgraph-Session", "s"); r.Session != "s" || r.Goal != "c" || !strings.Contains(r.Context, "User: a\n") {
		t.Errorf("a new session: %+v", r)
	}
	if r := send(chatBody("default", false, "x", "y", "z"), "Jobgraph-Session", "s"); r.Session != "s" || r.Goal != "z" || r.Context != "" {
		t.Errorf("the session again: %+v", r)
	}
	if r := send(`{"model":"default","metadata":{"session":"m"},"messages":[{"role":"user","content":"a"}]}`); r.Session != "m" {
		t.Errorf("by metadata: %+v", r)
	}
	one, two := send(chatBody("default", false, "a"), "Idempotency-Key", "k"), send(chatBody("default", false, "a"), "Idempotency-Key", "k")
	if one.ID != two.ID || one.Session != two.Session {
		t.Errorf("%+v, then %+v", one, two)
	}
	if r := send(`{"model":"default","user":"boss","messages":[{"role":"user","content":"a"}]}`); r.User != "submitter" {
		t.Errorf("a submitter acts for %s", r.User)
	}
	status, _ := k.ask(verb.Admin, http.MethodPost, chatPath, `{"model":"default","user":"boss","messages":[{"role":"user","content":"a"}]}`)
	if r, _ := k.last(); status != http.StatusOK || r.User != "boss" {
		t.Errorf("an admin acts for %s", r.User)
	}
}
