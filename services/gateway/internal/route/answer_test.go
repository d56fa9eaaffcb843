package route_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi/datamodel"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// The description of the API satisfies the official schema of OpenAPI 3.1, and names every route of the table.
func TestTheDescriptionIsValidOpenAPI(t *testing.T) {
	s := open(t, nil, nil)
	status, text := s.ask(verb.Viewer, http.MethodGet, "/openapi.json", "")
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	official := musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(datamodel.OpenAPI31SchemaData)))(t)
	compiler := jsonschema.NewCompiler()
	musttest.Do(t, compiler.AddResource("openapi", official))
	schema := musttest.Get(compiler.Compile("openapi"))(t)
	document := musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
	if err := schema.Validate(document); err != nil {
		t.Errorf("%#v", err)
	}
	var paths struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	musttest.Decode(t, []byte(text), &paths)
	for _, v := range verb.All() {
		for _, path := range v.Paths() {
			if paths.Paths[strings.Replace(path, "...}", "}", 1)][strings.ToLower(v.Method)] == nil {
				t.Errorf("%s %s is not described", v.Method, path)
			}
		}
	}
	for part := range strings.SplitSeq(text, `"$ref":"#/components/schemas/`) {
		if name, _, _ := strings.Cut(part, `"`); !strings.HasPrefix(part, "{") && paths.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func TestInputComesFromPathQueryAndBody(t *testing.T) {
	s := open(t, nil, nil)
	for _, test := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/jobs?state=RUNNING&limit=5&labels=team%3Dred&labels=a%3Db%3Dc", "", `list {"labels":{"a":"b=c","team":"red"},"limit":5,"state":"RUNNING"}`},
		{"GET", "/api/v1/jobs/j/why?subjob=a", "", `why {"id":"j","subjob":"a"}`},
		{"GET", "/api/v1/jobs/j/inputs", "", `inputs {"id":"j"}`},
		{"GET", "/api/v1/inputs?id=j", "", `inputs {"id":"j"}`},
		{"DELETE", "/api/v1/sessions/s?jobs=true", "", `sessions.delete {"id":"s","jobs":true,"user":"admin"}`},
		{"POST", "/api/v1/jobs/j/rerun", `{"subjob":"a","edit":{"goal":"g"}}`, `rerun {"by":"admin","edit":{"goal":"g"},"id":"j","subjob":"a"}`},
		{"POST", "/api/v1/jobs/j/recover", ``, `recover {"by":"admin","id":"j"}`},
		{"PATCH", "/api/v1/users/u", `{"timezone":"Europe/Rome"}`, `users.set {"timezone":"Europe/Rome","user":"u"}`},
	} {
		if status, body := s.ask(verb.Admin, test.method, test.path, test.body); status != http.StatusOK || s.last() != test.want {
			t.Errorf("%s %s: %d %s, asked %s, want %s", test.method, test.path, status, body, s.last(), test.want)
		}
	}
}

func TestBadInputIsNamed(t *testing.T) {
	s := open(t, answers{"get": func([]byte) ([]byte, *events.Fault) {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: "no job", Hint: "list"}
	}}, nil)
	for _, test := range []struct {
		method, path, body string
		status             int
		code               events.Code
	}{
		{"GET", "/api/v1/jobs?stat=x", "", 400, events.CodeUnknownField},
		{"GET", "/api/v1/jobs?limit=x", "", 400, events.CodeInvalid},
		{"GET", "/api/v1/jobs?limit=-1", "", 400, events.CodeInvalid},
		{"GET", "/api/v1/jobs?labels=x", "", 400, events.CodeInvalid},
		{"GET", "/api/v1/jobs/j?id=j", "", 400, events.CodeUnknownField},
		{"GET", "/api/v1/jobs?session=%ff", "", 400, events.CodeMalformed},
		{"GET", "/api/v1/jobs/%ff", "", 400, events.CodeMalformed},
		{"GET", "/api/v1/jobs/j", "", 404, events.CodeNotFound},
		{"GET", "/api/v1/jobs/j/graph?format=png", "", 400, events.CodeInvalid},
		{"POST", "/api/v1/jobs/j/stop", "\xff", 400, events.CodeMalformed},
		{"POST", "/api/v1/jobs/j/stop", "[]", 400, events.CodeMalformed},
		{"POST", "/api/v1/jobs/j/stop", "null", 400, events.CodeMalformed},
		{"POST", "/api/v1/jobs/j/stop", `{"id":"k"}`, 400, events.CodeInvalid},
		{"POST", "/api/v1/jobs/j/stop", `{"by":7}`, 400, events.CodeInvalid},
		{"POST", "/api/v1/jobs/j/stop?reason=r", "", 400, events.CodeUnknownField},
		{"POST", "/api/v1/jobs/j/stop", `{"reason":"` + strings.Repeat("x", 70<<10) + `"}`, 413, events.CodeTooLarge},
		{"POST", "/api/v1/jobs", ``, 400, events.CodeMissing},
		{"POST", "/api/v1/jobs", `{"goal":"g","gaol":1}`, 400, events.CodeUnknownField},
		{"GET", "/api/v1/jobs/none/plan", "", 404, events.CodeNotFound},
		{"GET", "/api/v1/jobs/none/artifacts/a/b", "", 404, events.CodeNotFound},
		{"GET", "/api/v1/jobs/none/live", "", 404, events.CodeNotFound},
		{"GET", "/api/v1/dlq/none", "", 404, events.CodeNotFound},
	} {
		s.refused(s.request(verb.Admin, test.method, test.path, test.body), test.status, test.code)
	}
	form := s.request("", http.MethodPost, "/api/v1/jobs/j/stop", `{}`)
	form.Header.Set("Content-Type", "text/plain")
	form.AddCookie(&http.Cookie{Name: "c", Value: token(verb.Admin)})
	s.refused(form, http.StatusBadRequest, events.CodeMalformed)
	form = s.request(verb.Admin, http.MethodPost, "/api/v1/jobs/j/stop", `{}`) // As curl sends it; no page of another site has a token to send.
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if answer, body := s.do(form); answer.StatusCode != http.StatusOK {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

func TestAnswersAreTaggedAndCompressed(t *testing.T) {
	long := []byte(`{"jobs":"` + strings.Repeat("x", 4000) + `"}`)
	s := open(t, answers{"list": func([]byte) ([]byte, *events.Fault) { return long, nil }}, nil)
	r := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs", "")
	r.Header.Set("Accept-Encoding", "gzip")
	answer, body := s.do(r)
	tag := answer.Header.Get("ETag")
	if answer.Header.Get("Content-Encoding") != "gzip" || len(body) > 500 || tag == "" {
		t.Fatalf("%v, %d bytes", answer.Header, len(body))
	}
	z := musttest.Get(gzip.NewReader(strings.NewReader(body)))(t)
	if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, long) {
		t.Errorf("%v %s", err, text)
	}
	again := s.request(verb.Viewer, http.MethodGet, "/api/v1/jobs", "")
	again.Header.Set("If-None-Match", `"other", `+tag)
	if answer, body := s.do(again); answer.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// The same key of the same user is the same job; another request under it is refused.
func TestAKeyMakesARequestRepeatable(t *testing.T) {
	var admitted []string
	s := open(t, answers{"submit": func(body []byte) ([]byte, *events.Fault) {
		var r events.Request
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, &events.Fault{Code: events.CodeMalformed, Message: err.Error()}
		}
		if slices.Contains(admitted, r.ID+" other") || slices.ContainsFunc(admitted, func(one string) bool { return strings.HasPrefix(one, r.ID+" ") && one != r.ID+" "+r.Goal }) {
			return nil, &events.Fault{Code: events.CodeConflict, Field: "id", Message: "another request has this id", Hint: "choose another"}
		}
		admitted = append(admitted, r.ID+" "+r.Goal)
		return fmt.Appendf(nil, `{"job_id":%q,"seq":1}`, r.ID), nil
	}}, nil)
	send := func(role verb.Role, key, goal string) (reply, string) {
		r := s.request(role, http.MethodPost, "/api/v1/jobs", fmt.Sprintf(`{"goal":%q}`, goal))
		r.Header.Set("Idempotency-Key", key)
		return s.do(r)
	}
	first, body := send(verb.Submitter, "k1", "g")
	if first.StatusCode != http.StatusCreated || !strings.Contains(body, `"job_id":"k-`) || first.Header.Get("Location") == "" {
		t.Fatalf("%d %s", first.StatusCode, body)
	}
	if _, again := send(verb.Submitter, "k1", "g"); again != body {
		t.Errorf("again %s, first %s", again, body)
	}
	if other, text := send(verb.Submitter, "k1", "other goal"); other.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, `"code":"conflict"`) {
		t.Errorf("%d %s", other.StatusCode, text)
	}
	for _, other := range []struct {
		role verb.Role
		key  string
	}{{verb.Admin, "k1"}, {verb.Submitter, "k2"}} {
		if _, text := send(other.role, other.key, "g"); text == body {
			t.Errorf("%s with %s is the same job", other.role, other.key)
		}
	}
	for size, want := range map[int]int{255: http.StatusCreated, 256: http.StatusRequestEntityTooLarge} {
		if long, text := send(verb.Submitter, strings.Repeat("k", size), "g"); long.StatusCode != want {
			t.Errorf("%d bytes: %d %s", size, long.StatusCode, text)
		}
	}
	own := s.request(verb.Submitter, http.MethodPost, "/api/v1/jobs", `{"goal":"g","id":"mine"}`)
	own.Header.Set("Idempotency-Key", "k")
	s.refused(own, http.StatusBadRequest, events.CodeInvalid)
}
