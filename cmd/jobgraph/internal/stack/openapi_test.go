package stack_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// described is a client that knows nothing of the API but its description.
type described struct {
	*testing.T
	at       string
	document struct {
		Paths map[string]map[string]operation
	}
	schemas *jsonschema.Compiler
	used    map[string]bool // The operations that were called.
}

// operation is an operation of the description.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Name, In string
		Required bool
	}
	Body      *json.RawMessage `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]struct {
			Data *json.RawMessage `json:"x-event-data"`
		}
	}
	path, method string
}

// newDescribed reads the description.
func newDescribed(t *testing.T, k *stack.Stack) *described {
	t.Helper()
	d := &described{T: t, at: k.HTTP(), schemas: jsonschema.NewCompiler(), used: map[string]bool{}}
	answer := d.send(http.MethodGet, "/openapi.json", nil, nil)
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	text := musttest.Get(io.ReadAll(answer.Body))(t)
	musttest.Do(t, json.Unmarshal(text, &d.document))
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = d.schemas.AddResource("api", whole)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// operation finds an operation by its id.
func (d *described) operation(id string) operation {
	d.Helper()
	for path, methods := range d.document.Paths {
		for method, o := range methods {
			if o.ID == id {
				o.path, o.method = path, strings.ToUpper(method)
				d.used[id] = true
				return o
			}
		}
	}
	d.Fatalf("no operation is called %s", id)
	return operation{}
}

func (d *described) send(method, path string, body []byte, header map[string]string) *http.Response {
	d.Helper()
	r := musttest.Get(http.NewRequestWithContext(d.Context(), method, d.at+path, bytes.NewReader(body)))(d)
	r.Header.Set("Authorization", "Bearer "+chatToken)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	return answer
}

// valid fails the test unless a value fits a schema of the description.
func (d *described) valid(what, pointer string, text []byte) {
	d.Helper()
	schema := musttest.Get(d.schemas.Compile("api#" + pointer))(d)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		d.Errorf("%s: %s does not fit: %v", what, text, err)
	}
}

// pointer returns the JSON pointer with these names.
func pointer(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name)))
	}
	return b.String()
}

// request builds the path and the body of a call from values by name; the description says where each value goes.
func (d *described) request(o *operation, values map[string]any) (path string, body []byte) {
	d.Helper()
	rest := map[string]any{}
	for name, value := range values {
		rest[name] = value
	}
	path = o.path
	query := url.Values{}
	for _, p := range o.Parameters {
		value, given := rest[p.Name]
		if !given && p.Required {
			d.Fatalf("%s needs %s", o.ID, p.Name)
		}
		if !given {
			continue
		}
		delete(rest, p.Name)
		switch p.In {
		case "path":
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(value)), 1)
		case "query":
			query.Set(p.Name, fmt.Sprint(value))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if o.Body == nil {
		if len(rest) > 0 {
			d.Fatalf("%s takes no %v", o.ID, rest)
		}
		return path, nil
	}
	body = musttest.Get(json.Marshal(rest))(d)
	d.valid("request of "+o.ID, pointer("paths", o.path, strings.ToLower(o.method), "requestBody", "content", "application/json", "schema"), body)
	return path, body
}

// call calls an operation and checks the answer against the description.
func (d *described) call(id string, values map[string]any) (status int, answer map[string]any) {
	d.Helper()
	o := d.operation(id)
	path, body := d.request(&o, values)
	response := d.send(o.method, path, body, nil)
	defer func() { _ = response.Body.Close() }() // The body has been read.
	text := musttest.Get(io.ReadAll(response.Body))(d)
	code := strconv.Itoa(response.StatusCode)
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	described, known := o.Responses[code]
	if _, ok := described.Content[media]; !known || !ok || err != nil {
		d.Fatalf("%s answers %s %s, which is not described: %s", id, code, response.Header.Get("Content-Type"), text)
	}
	if strings.HasSuffix(media, "json") {
		d.valid("answer of "+id, pointer("paths", o.path, strings.ToLower(o.method), "responses", code, "content", media, "schema"), text)
		musttest.Do(d, json.Unmarshal(text, &answer))
	}
	return response.StatusCode, answer
}

// good is call for operations that must succeed.
func (d *described) good(id string, values map[string]any) map[string]any {
	d.Helper()
	status, answer := d.call(id, values)
	if status >= http.StatusBadRequest {
		d.Fatalf("%s: %d %v", id, status, answer)
	}
	return answer
}

// follow reads a stream up to an event of a kind and checks the data of each event.
func (d *described) follow(id string, values map[string]any, until string) {
	d.Helper()
	o := d.operation(id)
	const media = "text/event-stream"
	if o.Responses["200"].Content[media].Data == nil {
		d.Fatalf("%s is not described as a stream", id)
	}
	path, _ := d.request(&o, values)
	response := d.send(o.method, path, nil, map[string]string{"Accept": media})
	defer func() { _ = response.Body.Close() }() // The stream may break off in the middle.
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for kind := ""; lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = text
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok && kind != "end" {
			d.valid("event of "+id, pointer("paths", o.path, strings.ToLower(o.method), "responses", "200", "content", media, "x-event-data"), []byte(text))
		}
		if kind == until && lines.Text() == "" {
			return
		}
	}
	d.Fatalf("%s ended without %s: %v", id, until, lines.Err())
}

// A client written from the description alone submits, follows, answers and stops, and everything that it receives matches the
// description.
// proves C39
// proves V30
// proves D15
func TestAClientOfTheDescriptionAlonePlaysARound(t *testing.T) {
	k, _ := talker(t)
	d := newDescribed(t, k)
	job := d.good("submit", map[string]any{"goal": "paint the wall", "session": "s", "labels": map[string]string{"a": "b"}})["job_id"]
	d.follow("events", map[string]any{"id": job}, "input.requested")
	question := d.good("inputs", map[string]any{"id": job})["inputs"].([]any)[0].(map[string]any)
	if question["job_id"] != job || !strings.Contains(fmt.Sprint(question["prompt"]), "Which colour?") {
		t.Fatalf("asked %v", question)
	}
	d.good("why", map[string]any{"id": job})
	d.good("answer", map[string]any{"id": job, "request": question["request"], "answer": "blue"})
	d.follow("events", map[string]any{"id": job, "until": "end"}, "end")
	d.follow("live", map[string]any{"id": job}, "end")
	deadline := time.Now().Add(musttest.Patience)
	for state := d.good("get", map[string]any{"id": job}); state["status"] != "FINISHED" || !strings.Contains(fmt.Sprint(state["result"]), "BLUE"); state = d.good("get", map[string]any{"id": job}) {
		if time.Now().After(deadline) {
			t.Fatalf("%v", state)
		}
	}
	for _, id := range []string{"events", "live", "plan", "graph", "artifacts"} {
		d.good(id, map[string]any{"id": job})
	}
	d.good("brief", map[string]any{"id": job, "subjob": "name"})
	d.good("subjob", map[string]any{"id": job, "subjob": "name"})
	d.good("sessions.show", map[string]any{"id": "s"})
	d.good("sessions.conversation", map[string]any{"id": "s", "limit": 10})
	d.good("sessions.rename", map[string]any{"id": "s", "title": "Walls"})
	for _, id := range []string{"list", "sessions.list", "schedule.list", "experts", "profiles", "dlq", "health", "models.list", "budgets", "pools", "models"} {
		d.good(id, nil)
	}
	forked := d.good("fork", map[string]any{"id": job, "new_id": "again", "before": "name"})["job_id"]
	d.follow("events", map[string]any{"id": forked, "until": "end"}, "end")
	other := d.good("submit", map[string]any{"goal": "paint the door"})["job_id"]
	d.follow("events", map[string]any{"id": other}, "input.requested")
	if told := d.good("stop", map[string]any{"id": other, "reason": "enough"}); told["status"] != "STOPPED" {
		t.Errorf("%v", told)
	}
	d.good("schedule.create", map[string]any{"id": "daily", "schedule": map[string]any{"daily_time": "09:00"}, "request": map[string]any{"goal": "paint"}})
	d.good("schedule.pause", map[string]any{"id": "daily"})
	d.good("schedule.get", map[string]any{"id": "daily"})
	d.good("schedule.delete", map[string]any{"id": "daily"})
	d.good("users.set", map[string]any{"user": "ann", "timezone": "Europe/Rome"})
	d.good("users.get", map[string]any{"user": "ann"})
	d.good("chat", map[string]any{"model": "scribe", "messages": []map[string]string{{"role": "user", "content": "Name the colour"}}})
	d.good("responses", map[string]any{"model": "scribe", "input": "Name the colour"})
	d.good("models.get", map[string]any{"model": "scribe"})
	for id, values := range map[string]map[string]any{
		"get": {"id": "none"}, "submit": {"goal": ""}, "stop": {"id": other}, "models.get": {"model": "none"}, "dlq.get": {"id": "none"},
	} {
		if status, answer := d.call(id, values); status < http.StatusBadRequest {
			t.Errorf("%s: %d %v", id, status, answer)
		}
	}
	if len(d.used) < 35 {
		t.Errorf("only %d operations were used", len(d.used))
	}
	d.good("delete", map[string]any{"id": other})
}
