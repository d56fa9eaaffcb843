package route_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

var segment = regexp.MustCompile(`\{[a-z_.]+\}`)

// Every route admits exactly the roles of the table, and nothing without a token.
// proves C39
// proves V30
func TestEveryRouteAdmitsTheRolesOfTheTableAndNoOther(t *testing.T) {
	s := open(t, nil, nil)
	routes := 0
	for _, v := range verb.All() {
		for _, path := range v.Paths() {
			routes++
			at := segment.ReplaceAllString(path, "x")
			s.refused(s.request("", v.Method, at, ""), http.StatusUnauthorized, events.CodeUnauthenticated)
			stranger := s.request("", v.Method, at, "")
			stranger.Header.Set("Authorization", "Bearer token-of-nobody-123456789")
			s.refused(stranger, http.StatusUnauthorized, events.CodeUnauthenticated)
			for _, role := range verb.Roles() {
				may := role == verb.Admin
				for _, r := range v.Roles {
					may = may || r == role || r == verb.Viewer
				}
				own := strings.Replace(path, "{user}", string(role), 1)
				status, body := s.ask(role, v.Method, segment.ReplaceAllString(own, "x"), "")
				if refused := status == http.StatusForbidden && strings.Contains(body, string(events.CodeNotPermitted)); refused == may || status == http.StatusUnauthorized {
					t.Errorf("%s %s as %s: %d %s, allowed %v", v.Method, at, role, status, body, may)
				}
			}
		}
	}
	if routes < 30 {
		t.Errorf("only %d routes", routes)
	}
}

func TestPathsWithoutARouteNeedATokenToo(t *testing.T) {
	s := open(t, nil, nil)
	for _, path := range []string{"/", "/openapi.json", "/asyncapi.json", "/api/v1/nothing", "/api/v2"} {
		s.refused(s.request("", http.MethodGet, path, ""), http.StatusUnauthorized, events.CodeUnauthenticated)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/nothing", ""), http.StatusNotFound, events.CodeNotFound)
	s.refused(s.request(verb.Viewer, http.MethodDelete, "/api/v1/experts", ""), http.StatusMethodNotAllowed, events.CodeInvalid)
	if status, body := s.ask(verb.Viewer, http.MethodGet, "/", ""); status != http.StatusOK || !strings.Contains(body, "v1.2.3") {
		t.Errorf("%d %s", status, body)
	}
}

// What a person approves is approved by an approver alone.
func TestASubmitterAnswersQuestionsAndNoApprovals(t *testing.T) {
	open := open(t, answers{"inputs": func([]byte) ([]byte, *events.Fault) {
		return []byte(`{"inputs":[{"job_id":"j","request":"ask","kind":"clarification"},{"job_id":"j","request":"pay","kind":"approval"},{"job_id":"j","request":"odd","kind":"unknown"}]}`), nil
	}}, nil)
	for _, test := range []struct {
		role    verb.Role
		request string
		want    int
	}{
		{verb.Submitter, "ask", 200},
		{verb.Submitter, "pay", 403},
		{verb.Submitter, "odd", 403},
		{verb.Submitter, "other", 200},
		{verb.Approver, "pay", 200},
		{verb.Admin, "pay", 200},
		{verb.Viewer, "ask", 403},
		{verb.Operator, "ask", 403},
	} {
		status, body := open.ask(test.role, http.MethodPost, "/api/v1/jobs/j/inputs/"+test.request, `{"answer":"yes"}`)
		if status != test.want {
			t.Errorf("%s answers %s: %d %s", test.role, test.request, status, body)
		}
	}
}

// What a user asks for has their rights on the bus, over HTTP and from this process, and not those of the gateway.
func TestARequestOnTheBusHasTheRightsOfItsUser(t *testing.T) {
	s := open(t, nil, nil)
	rights := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.by == nil {
			return "all"
		}
		return strings.Join(s.by.Rights, ",")
	}
	for _, role := range verb.Roles() {
		if status, body := s.ask(role, http.MethodGet, "/api/v1/jobs", ""); status != http.StatusOK || rights() != string(role) {
			t.Errorf("as %s: %d %s, with the rights %s", role, status, body, rights())
		}
	}
	who, ok := s.keeper.Of(token(verb.Operator))
	if _, err := s.gateway.Do(t.Context(), who, "stop", map[string]string{"id": "j"}); !ok || err != nil || rights() != string(verb.Operator) {
		t.Errorf("%v, with the rights %s", err, rights())
	}
}

// The token determines the user; only an admin may name another one.
func TestNoOneActsForAnother(t *testing.T) {
	s := open(t, nil, nil)
	for _, test := range []struct {
		role                     verb.Role
		method, path, body, want string
	}{
		{verb.Operator, "POST", "/api/v1/jobs/j/stop", `{"reason":"r"}`, `stop {"by":"operator","id":"j","reason":"r"}`},
		{verb.Operator, "POST", "/api/v1/jobs/j/stop", `{"by":"operator"}`, `stop {"by":"operator","id":"j"}`},
		{verb.Operator, "POST", "/api/v1/jobs/j/stop", `{"by":"boss"}`, ""},
		{verb.Admin, "POST", "/api/v1/jobs/j/stop", `{"by":"boss"}`, `stop {"by":"boss","id":"j"}`},
		{verb.Operator, "POST", "/api/v1/sessions/s/stop", ``, `sessions.stop {"by":"operator","id":"s","user":"operator"}`},
		{verb.Approver, "POST", "/api/v1/jobs/j/inputs/r", `{"answer":1,"by":"boss"}`, ""},
		{verb.Viewer, "GET", "/api/v1/sessions/s", ``, `sessions.show {"id":"s","user":"viewer"}`},
		{verb.Viewer, "GET", "/api/v1/sessions/s?user=boss", ``, ""},
		{verb.Viewer, "GET", "/api/v1/users/boss", ``, ""},
		{verb.Viewer, "GET", "/api/v1/users/viewer", ``, `users.get {"user":"viewer"}`},
		{verb.Operator, "POST", "/api/v1/schedules", `{"request":{"goal":"g","user_id":"boss"}}`, ""},
		{verb.Operator, "POST", "/api/v1/schedules", `{"request":{"goal":"g"}}`, `schedule.create {"by":"operator","request":{"goal":"g","user":"operator"}}`},
		{verb.Submitter, "POST", "/api/v1/jobs", `{"goal":"g","user_id":"boss"}`, ""},
	} {
		before := s.last()
		status, body := s.ask(test.role, test.method, test.path, test.body)
		switch {
		case test.want == "" && (status != http.StatusForbidden || s.last() != before):
			t.Errorf("%s %s %s as %s: %d %s, asked %s", test.method, test.path, test.body, test.role, status, body, s.last())
		case test.want != "" && s.last() != test.want:
			t.Errorf("%s %s %s as %s: %d %s, asked %s, want %s", test.method, test.path, test.body, test.role, status, body, s.last(), test.want)
		}
	}
}

// A token that is removed from the file stops working at once, even in the middle of a stream.
func TestARevokedTokenEnds(t *testing.T) {
	s := open(t, nil, func(g *routeSettings) { g.Beat = shortBeat })
	s.state("j", requested)
	r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/events", "")
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	s.write(verb.Admin)
	if changed, err := s.keeper.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	body := readAll(t, answer)
	if !strings.Contains(body, "event: job.requested\n") || !strings.Contains(body, "event: fault\ndata: {\"code\":\"unauthenticated\"") {
		t.Errorf("the stream was %s", body)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j", ""), http.StatusUnauthorized, events.CodeUnauthenticated)
}

// A service ignores the case of the letters in the names of fields, also that of the long s, so another spelling of a field would name a user
// whom nobody has checked.
func TestNoOtherSpellingOfAFieldReachesAService(t *testing.T) {
	asked := 0
	answer := func([]byte) ([]byte, *events.Fault) {
		asked++
		return []byte(`{"inputs":[]}`), nil
	}
	s := open(t, answers{"answer": answer, "users.set": answer, "sessions.rename": answer, "stop": answer}, nil)
	for _, c := range []struct {
		role               verb.Role
		method, path, body string
	}{
		{verb.Approver, http.MethodPost, "/api/v1/jobs/j/inputs/ask", `{"answer":"yes","BY":"boss"}`},
		{verb.Approver, http.MethodPost, "/api/v1/jobs/j/inputs/ask", `{"answer":"yes","reque\u017ft":"pay"}`},
		{verb.Submitter, http.MethodPatch, "/api/v1/users/submitter", `{"timezone":"UTC","u\u017fer":"boss"}`},
		{verb.Submitter, http.MethodPatch, "/api/v1/sessions/s", `{"title":"x","u\u017fer":"boss"}`},
		{verb.Operator, http.MethodPost, "/api/v1/jobs/j/stop", `{"Id":"k"}`},
	} {
		status, body := s.ask(c.role, c.method, c.path, c.body)
		if status != http.StatusBadRequest || !strings.Contains(body, string(events.CodeUnknownField)) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, body)
		}
	}
	if asked > 0 {
		t.Errorf("services were asked %d times", asked)
	}
}
