package route_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
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
				may := role == verb.Admin || v.Own && role == verb.Submitter // Whose job it is, another test asks.
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

// A submitter stops their own jobs: over HTTP, from this process and where a page shows what can be done. One that is not in the log is left to
// the scheduler.
func TestASubmitterStopsTheirOwnJobs(t *testing.T) {
	s := open(t, nil, nil)
	for job, user := range map[string]string{"theirs": "boss", "no-ones": "", "mine": string(verb.Submitter)} {
		s.state(job, events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{ID: job, Goal: "g", User: user}, Rules: events.Rules{Version: 1}}})
	}
	who, _ := s.keeper.Of(token(verb.Submitter))
	for job, may := range map[string]bool{"mine": true, "waits": true, "theirs": false, "no-ones": false} {
		want := `stop {"by":"submitter","id":"` + job + `"}`
		for way, stop := range map[string]func() bool{
			"over HTTP": func() bool {
				status, body := s.ask(verb.Submitter, http.MethodPost, "/api/v1/jobs/"+job+"/stop", "")
				return status == http.StatusOK && !strings.Contains(body, "may stop only their own jobs")
			},
			"in this process": func() bool {
				_, err := s.gateway.Do(t.Context(), who, "stop", map[string]string{"id": job})
				return err == nil
			},
		} {
			if before := s.last(); stop() != may || (s.last() == want) != may || !may && s.last() != before {
				t.Errorf("%s %s: asked %s, allowed %v", job, way, s.last(), may)
			}
		}
		if job == "waits" {
			continue
		}
		_, body := s.ask(verb.Submitter, http.MethodGet, "/api/v1/jobs/"+job+"/actions", "")
		var shown verb.Actions
		musttest.Decode(t, []byte(body), &shown)
		_, body = s.ask(verb.Submitter, http.MethodGet, "/api/v1/jobs/"+job+"/graph", "")
		var drawn verb.Graph
		if musttest.Decode(t, []byte(body), &drawn); (drawn.User == string(verb.Submitter)) != may {
			t.Errorf("the page of %s takes it for a job of %q", job, drawn.User)
		}
		for _, a := range shown.Actions {
			if want := a.Verb == "fork" || a.Verb == "stop" && may; a.Permitted != want {
				t.Errorf("%s: %s is permitted: %v", job, a.Verb, a.Permitted)
			}
		}
	}
}

// A refused request says what of it is wrong.
func TestARefusalSaysWhatIsWrongWithTheHeaderOrTheBody(t *testing.T) {
	s := open(t, nil, nil)
	for header, want := range map[string]string{
		"": "there is no token", token(verb.Viewer): "the header has no Bearer token", "Token " + token(verb.Viewer): "the header has no Bearer token",
		"Bearer x": "the token is unknown, revoked or expired",
	} {
		r := s.request("", http.MethodGet, "/api/v1/jobs", "")
		r.Header.Set("Authorization", header)
		if _, body := s.do(r); !strings.Contains(body, `"message":"`+want+`"`) || !strings.Contains(body, `"hint"`) {
			t.Errorf("%q: %s", header, body)
		}
	}
	if _, body := s.ask(verb.Submitter, http.MethodPost, "/api/v1/jobs", `{"goal":"x",}`); !strings.Contains(body, `"cause":"byte 13: invalid character '}'`) {
		t.Error(body)
	}
}

// The log of the gateway names who was refused, unless the token belongs to no user.
func TestTheLogNamesWhoWasRefused(t *testing.T) {
	s := open(t, nil, nil)
	s.ask(verb.Viewer, http.MethodPost, "/api/v1/jobs/j/stop", "")
	s.ask(verb.Submitter, http.MethodPost, "/api/v1/jobs/j/retry", "")
	s.ask("", http.MethodPost, "/api/v1/jobs/j/fail", "")
	log := s.log.String()
	for _, want := range []string{"user=viewer verb=stop", "user=submitter verb=retry", `user="" verb=fail`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
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
	s.state("theirs", events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{ID: "theirs", Goal: "g", User: "boss"}, Rules: events.Rules{Version: 1}}})
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
		{verb.Submitter, "POST", "/api/v1/jobs", `{"goal":"g","id":"mine"}`, `submit {"goal":"g","id":"mine","user":"submitter"}`},
		{verb.Submitter, "POST", "/api/v1/jobs/theirs/fork", `{}`, ""},
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

// A token that is removed from the file stops working at once, even in the middle of a stream, or of a conversation over MCP.
func TestARevokedTokenEnds(t *testing.T) {
	s := open(t, nil, func(g *routeSettings) { g.Beat = shortBeat })
	s.state("j", requested)
	r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/events", "")
	r.Header.Set("Accept", "text/event-stream")
	body := bufio.NewReader(s.begun(r))
	for begun := false; !begun; { // What has not been said when the token is removed is not said any more.
		line := musttest.Get(body.ReadString('\n'))(t)
		begun = strings.HasPrefix(line, "event: job.requested")
	}
	viewer, _ := s.keeper.Of(token(verb.Viewer))
	s.write(verb.Admin)
	if changed, err := s.keeper.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	var fault *events.Fault
	if _, err := s.gateway.Do(t.Context(), viewer, "list", struct{}{}); !errors.As(err, &fault) || fault.Code != events.CodeUnauthenticated || s.last() != "" {
		t.Errorf("in this process: %v, asked %s", err, s.last())
	}
	if rest := string(musttest.Get(io.ReadAll(body))(t)); !strings.Contains(rest, "event: fault\ndata: {\"code\":\"unauthenticated\"") {
		t.Errorf("the stream went on with %s", rest)
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs/j", ""), http.StatusUnauthorized, events.CodeUnauthenticated)
}

// A service ignores the case of the letters in the names of fields, also that of the long s, so another spelling of a field would name a user
// whom the gateway has not checked.
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

// direct answers a request with the token of a role, without a connection; audited says whether the log tells operators of it.
func (s *site) direct(role verb.Role, method, path string) (status int, audited string) {
	s.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, http.NoBody)
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+token(role))
	}
	w, before := httptest.NewRecorder(), len(s.log.String())
	s.gateway.ServeHTTP(w, r)
	for line := range strings.Lines(s.log.String()[before:]) {
		if strings.Contains(line, "level=INFO msg=request ") {
			audited += line
		}
	}
	return w.Code, audited
}

func TestTheLogHasEachChangeAndEachRefusal(t *testing.T) {
	s := open(t, nil, nil)
	for _, c := range []struct {
		role         verb.Role
		method, path string
		status       int
		want         string // A part of the line; "" for no line.
	}{
		{verb.Viewer, http.MethodGet, "/api/v1/schedules", http.StatusOK, ""},
		{verb.Viewer, http.MethodGet, "/api/v1/jobs?limit=x", http.StatusBadRequest, ""},
		{verb.Submitter, http.MethodGet, "/api/v1/users/boss", http.StatusForbidden, "user=submitter verb=users.get remote="},
		{"", http.MethodGet, "/api/v1/schedules", http.StatusUnauthorized, `user="" verb=schedule.list remote=`},
		{verb.Operator, http.MethodPost, "/api/v1/jobs/j/stop", http.StatusOK, "user=operator verb=stop remote="},
		{verb.Viewer, http.MethodPost, "/api/v1/jobs/j/stop", http.StatusForbidden, "verb=stop remote="},
	} {
		if status, got := s.direct(c.role, c.method, c.path); status != c.status || (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s %s as %s: %d, log %q", c.method, c.path, c.role, status, got)
		}
	}
}

// A page of another site reaches no route, with any token.
func TestAPageOfAnotherSiteReachesNoRoute(t *testing.T) {
	s := open(t, nil, nil)
	for _, path := range []string{"/api/v1/jobs", "/openapi.json", "/api/v1/nothing"} {
		r := s.request(verb.Admin, http.MethodGet, path, "")
		r.Header.Set("Origin", "https://evil.example.org")
		s.refused(r, http.StatusForbidden, events.CodeNotPermitted)
	}
	if s.last() != "" {
		t.Errorf("asked %s", s.last())
	}
}

// Each user has a rate of their own, on all paths together.
func TestWhoAsksTooOftenIsToldToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper, err := identity.NewKeeper("", musttest.Temp(t, "tokens.yaml", "version: 1\ntokens:\n  - {user: ann, roles: [viewer], token: "+token(verb.Viewer)+"}\n  - {user: bob, roles: [viewer], token: "+token(verb.Operator)+"}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		g := route.New(t.Context(), route.Settings{Guard: &identity.Guard{Keeper: keeper}, Rate: 2, Log: slog.New(slog.DiscardHandler)})
		ask := func(role verb.Role, path string, want int) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody)
			r.Header.Set("Authorization", "Bearer "+token(role))
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != want || (w.Header().Get("Retry-After") == "1") != (want == http.StatusTooManyRequests) {
				t.Errorf("%s: %d %v %s, want %d", path, w.Code, w.Header(), w.Body, want)
			}
		}
		ask(verb.Viewer, "/openapi.json", http.StatusOK)
		ask(verb.Viewer, "/api/v1/nothing", http.StatusNotFound)
		ask(verb.Viewer, "/api/v1/nothing", http.StatusTooManyRequests)
		ask(verb.Viewer, "/openapi.json", http.StatusTooManyRequests)
		ask(verb.Operator, "/api/v1/nothing", http.StatusNotFound)
		<-time.After(500 * time.Millisecond)
		ask(verb.Viewer, "/api/v1/nothing", http.StatusNotFound)
	})
}

// A question for a user is answered by that user alone, one that permits an action by an approver; only the holder of the start-up token, who
// is every user, may answer for others.
func TestAQuestionForAUserIsAnsweredByThatUser(t *testing.T) {
	g := open(t, nil, nil).gateway
	for _, c := range []struct {
		user string
		role verb.Role
		kind events.InputKind
		of   string // The user whom the question is for.
		want bool
	}{
		{"ann", verb.Submitter, events.InputClarification, "", true},
		{"ann", verb.Submitter, events.InputClarification, "ann", true},
		{"ann", verb.Submitter, events.InputClarification, "bob", false},
		{"ann", verb.Submitter, events.InputApproval, "ann", false},
		{"ann", verb.Approver, events.InputUnknown, "ann", true},
		{"ann", verb.Viewer, events.InputClarification, "ann", false},
		{"boss", verb.Admin, events.InputApproval, "", true},
		{"boss", verb.Admin, events.InputClarification, "bob", false},
		{"", verb.Admin, events.InputClarification, "bob", true},
		{"", verb.Submitter, events.InputClarification, "bob", false},
	} {
		if got := g.MayAnswer(identity.Identity{User: c.user, Roles: []verb.Role{c.role}}, &verb.Question{Kind: c.kind, User: c.of}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A message of a user who may not approve answers no approval of its session, also where the scheduler does not read the rights of users.
func TestAMessageOfASubmitterIsNoApproval(t *testing.T) {
	kind := events.InputApproval
	var said events.Request
	s := open(t, answers{
		"inputs": func([]byte) ([]byte, *events.Fault) {
			return fmt.Appendf(nil, `{"inputs":[{"job_id":"j","request":"ask","kind":"clarification"},{"job_id":"j","request":"q","kind":%q}]}`, kind), nil
		},
		"submit": func(body []byte) ([]byte, *events.Fault) {
			said = events.Request{}
			if err := json.Unmarshal(body, &said); err != nil {
				t.Error(err)
			}
			return []byte(`{"job_id":"k","seq":1}`), nil
		},
	}, nil)
	session := `{"user":"","jobs":[{"id":"i"},{"id":"j","asking":true}]}`
	if _, err := s.bus.Sessions().Put(t.Context(), bus.SessionKey("s"), []byte(session), 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		role    verb.Role
		kind    events.InputKind
		session string
		want    bool // It is a job of its own.
	}{
		{verb.Submitter, events.InputApproval, "s", true},
		{verb.Submitter, events.InputUnknown, "s", true},
		{verb.Submitter, events.InputClarification, "s", false},
		{verb.Submitter, events.InputApproval, "new", false},
		{verb.Submitter, events.InputApproval, "", false},
		{verb.Admin, events.InputApproval, "s", false},
	} {
		kind = c.kind
		status, body := s.ask(c.role, http.MethodPost, "/api/v1/jobs", fmt.Sprintf(`{"goal":"yes","session":%q}`, c.session))
		if status != http.StatusCreated || said.New != c.want || said.Session != c.session {
			t.Errorf("%+v: %d %s, submitted %+v", c, status, body, said)
		}
	}
}

// A wait ends once its user has no valid token any more, even if nothing happens, and counts as one of the open streams.
func TestAWaitIsThatOfAUserAndOneOfTheStreams(t *testing.T) {
	running := answers{"get": func([]byte) ([]byte, *events.Fault) { return []byte(`{"id":"j","status":"RUNNING"}`), nil }}
	s := open(t, running, func(g *routeSettings) { g.Beat = shortBeat })
	s.state("j", requested)
	viewer, _ := s.keeper.Of(token(verb.Viewer))
	ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
	defer stop()
	revoked := false
	_, err := s.gateway.Await(ctx, viewer, &verb.Waiting{Ref: verb.Ref{ID: "j"}, Timeout: events.Duration(time.Hour)}, nil, func(*verb.Waited) {
		if !revoked {
			revoked = true
			s.write(verb.Admin)
			if changed, err := s.keeper.Refresh(); !changed || err != nil {
				t.Error(changed, err)
			}
		}
	})
	var fault *events.Fault
	if !errors.As(err, &fault) || fault.Code != events.CodeUnauthenticated {
		t.Errorf("the wait ended with %v", err)
	}
	s = open(t, running, func(g *routeSettings) { g.Streams = 0 })
	s.state("j", requested)
	viewer, _ = s.keeper.Of(token(verb.Viewer))
	if _, err := s.gateway.Await(ctx, viewer, &verb.Waiting{Ref: verb.Ref{ID: "j"}, Timeout: events.Duration(time.Nanosecond)}, nil, nil); !errors.As(err, &fault) || fault.Code != events.CodeTooMany {
		t.Errorf("one too many: %v", err)
	}
}

// What is no id is refused like any other bad input, also where a submitter may stop only their own jobs.
func TestASubmitterStopsNothingThatIsNoJob(t *testing.T) {
	s := open(t, answers{"stop": func([]byte) ([]byte, *events.Fault) {
		return nil, &events.Fault{Code: events.CodeInvalid, Field: "id", Message: "that is no job id", Hint: "h"}
	}}, nil)
	for _, id := range []string{"*", "%3E", "a%2Fb", "j%00"} {
		s.refused(s.request(verb.Submitter, http.MethodPost, "/api/v1/jobs/"+id+"/stop", ""), http.StatusBadRequest, events.CodeInvalid)
	}
}
