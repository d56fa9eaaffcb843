package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/mcp"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

// object is a JSON object.
type object = map[string]any

func token(role verb.Role) string { return "token-of-" + string(role) + "-123456789" }

// site is a bus on which the test answers the verbs, with gateways in front of it.
type site struct {
	*testing.T
	bus    *bus.Bus
	keeper *identity.Keeper
	tokens string // The file that the keeper reads.

	mu    sync.Mutex // Guards jobs and asked.
	jobs  map[string]*verb.Waited
	asked []string // "verb input" of each request on the bus that changes something.
	n     int
	slow  bool // A question is still shown once after it was answered.
	late  string
	after func(*verb.Waited) // What happens to a job right after it was shown.
}

// open starts the bus.
func open(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, bus: bustest.Start(t, bustest.Settings{}).Bus("gateway"), jobs: map[string]*verb.Waited{}}
	endpoints := map[string]bus.Endpoint{}
	for name, answer := range map[string]func(body []byte) (any, *events.Fault){
		"submit": func(body []byte) (any, *events.Fault) {
			r, faults := events.DecodeRequest(body)
			if len(faults) > 0 {
				return nil, &faults[0]
			}
			if r.ID == "" {
				r.ID = "j"
			}
			s.changed(r.ID, func(*verb.Waited) {})
			return verb.Receipt{JobID: r.ID, Admitted: true}, nil
		}, "get": s.get, "inputs": func(body []byte) (any, *events.Fault) {
			j, fault := s.of(body)
			if fault != nil {
				return nil, fault
			}
			shown := slices.Clone(j.Inputs)
			if s.late == j.JobID {
				s.late = ""
				s.changed(j.JobID, finish)
			}
			return verb.Questions{Inputs: shown}, nil
		}, "answer": s.answer, "stop": s.stop, "list": s.list, "why": s.why, "plan.list": func([]byte) (any, *events.Fault) {
			return object{"text": "", "plans": []object{{"id": "trip", "title": "Plan a trip", "lines": []object{{"text": "book"}, {"text": "pack"}}}}}, nil
		}, "plan.get": s.plan,
	} {
		endpoints[name] = func(_ context.Context, body []byte) ([]byte, *events.Fault) {
			s.mu.Lock()
			out, fault := answer(body)
			if v, _ := verb.Find(name); v.Effect != verb.Read {
				s.asked = append(s.asked, name+" "+string(body))
			}
			s.mu.Unlock()
			if fault != nil {
				return nil, fault
			}
			text, err := json.Marshal(out)
			if err != nil {
				t.Error(err)
			}
			return text, nil
		}
	}
	stop, err := s.bus.Services().Serve("jobgraph-scheduler", "", nil, endpoints, verb.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	path, text := filepath.Join(t.TempDir(), "tokens.yaml"), "version: 1\ntokens:\n"
	for _, role := range verb.Roles() {
		text += fmt.Sprintf("  - {user: %s, roles: [%s], token: %s}\n", role, role, token(role))
	}
	text += "  - {user: anna, roles: [submitter, operator], token: token-of-anna-123456789}\n  - {user: approver, roles: [viewer], token: " + narrow + "}\n"
	musttest.Write(t, path, text)
	s.tokens = path
	if s.keeper, err = identity.NewKeeper("", path, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// narrow is another token of the approver, whose role is viewer.
const narrow = "another-token-of-approver-123456789"

// most is how many requests of a user a gateway takes per second.
const most = 1000

// sessions limits the sessions of a gateway, streams its streams.
const sessions, streams = 40, 100

// gateway is one gateway with its server.
type gateway struct {
	*httptest.Server
	end context.CancelFunc
}

// kill ends a gateway with all its connections in the middle of its work.
func (g *gateway) kill() {
	g.CloseClientConnections()
	g.end()
	g.Close()
}

// start starts a gateway.
func (s *site) start() *gateway {
	s.Helper()
	end, drain := context.WithCancel(context.Background())
	g, door := s.door(end, s.keeper)
	server := mcp.New(mcp.Settings{Door: door, Version: "v1.2.3", Log: slog.New(slog.DiscardHandler), Body: 64 << 10, Sessions: sessions})
	g.Mount("/mcp", server.Handler())
	out := &gateway{httptest.NewServer(g), drain}
	s.Cleanup(out.kill)
	return out
}

func (s *site) door(end context.Context, keeper *identity.Keeper) (*route.Gateway, mcp.Door) {
	g := route.New(end, route.Settings{
		Client: client.New(s.bus), Guard: &identity.Guard{Keeper: keeper, Cookie: "c"}, Rate: most, Body: 64 << 10, Streams: streams, Beat: 20 * time.Millisecond,
		Write: 10 * time.Second, Version: "v1.2.3", Health: func(context.Context) []host.Reason { return nil }, Log: slog.New(slog.DiscardHandler),
	})
	return g, g
}

// bearer sends a token with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects a client that speaks a revision of the protocol.
func (s *site) connect(g *gateway, token, revision string, o *sdk.ClientOptions) *sdk.ClientSession {
	s.Helper()
	return s.join(sdk.NewClient(&sdk.Implementation{Name: "test"}, o), g, token, revision)
}

// join connects a client.
func (s *site) join(c *sdk.Client, g *gateway, token, revision string) *sdk.ClientSession {
	s.Helper()
	session := musttest.Get(c.Connect(s.Context(), &sdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: revision}))(s)
	s.Cleanup(func() { _ = session.Close() })
	return session
}

// code returns the code of a protocol error; 0 for any other.
func code(err error) int64 {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire.Code
	}
	return 0
}

// call returns the result of a tool and its text.
func (s *site) call(c *sdk.ClientSession, name string, args any) (*sdk.CallToolResult, string) {
	s.Helper()
	out, err := c.CallTool(s.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	var text strings.Builder
	for _, part := range out.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return out, text.String()
}

// post sends a message by hand.
func (s *site) post(g *gateway, header map[string]string, body string) (status int, answer string) {
	s.Helper()
	r := musttest.Get(http.NewRequestWithContext(s.Context(), http.MethodPost, g.URL+"/mcp", strings.NewReader(body)))(s)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }() // The body has been read.
	text := musttest.Get(io.ReadAll(got.Body))(s)
	return got.StatusCode, string(text)
}

// requested notes in the log for whom a job was requested.
func (s *site) requested(id, user string) {
	s.Helper()
	requested := &events.JobRequested{Request: events.Request{ID: id, Goal: "g", User: user}, Rules: events.Rules{Version: 1}}
	m := musttest.Get(events.Encode(s.bus.Names(), events.Event{Job: id, Source: "test", Kind: events.KindJobRequested, Data: requested}))(s)
	musttest.Get(s.bus.Publish(s.Context(), m, bus.Expect{}))(s)
}

// change changes a job and publishes the change.
func (s *site) change(id string, change func(*verb.Waited)) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed(id, change)
}

// changed is change for callers that hold mu.
func (s *site) changed(id string, change func(*verb.Waited)) {
	s.Helper()
	j := s.jobs[id]
	if j == nil {
		j = &verb.Waited{JobID: id, Status: events.Running, Total: 2}
		s.jobs[id] = j
	}
	change(j)
	s.n++
	e := events.Event{Job: id, Source: "test", Kind: events.KindJobRunning, ID: fmt.Sprint(s.n), Data: &events.JobMoved{Status: events.Running, Turn: s.n}}
	m, err := events.Encode(s.bus.Names(), e)
	if err == nil {
		_, err = s.bus.Publish(context.Background(), m, bus.Expect{})
	}
	if err != nil {
		s.Error(err)
	}
}

// finish ends a job.
func finish(j *verb.Waited) {
	j.Ended, j.Status, j.Done, j.Inputs, j.Result = true, events.Finished, 2, nil, json.RawMessage(`"all is done"`)
}

// told lists what was asked on the bus.
func (s *site) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// of finds the job that an input names.
func (s *site) of(body []byte) (*verb.Waited, *events.Fault) {
	var in verb.Ref
	_ = json.Unmarshal(body, &in) // Without an id there is no such job.
	if j := s.jobs[in.ID]; j != nil {
		return j, nil
	}
	return nil, &events.Fault{Code: events.CodeNotFound, Field: "id", Message: "there is no job " + in.ID, Hint: "jobgraph list"}
}

func (s *site) get(body []byte) (any, *events.Fault) {
	j, fault := s.of(body)
	if fault != nil {
		return nil, fault
	}
	shown := object{
		"id": j.JobID, "status": j.Status, "goal": "g", "seq": 1, "progress": object{"done": j.Done, "total": j.Total}, "result": j.Result, "inputs": j.Inputs, "end_owed": !j.Ended && j.Status.Terminal(),
		"created": time.Unix(1_800_000_000, 0).UTC(), "changed": time.Unix(1_800_000_000, 0).UTC(),
	}
	if after := s.after; after != nil {
		s.after = nil
		s.changed(j.JobID, after)
	}
	return shown, nil
}

func (s *site) answer(body []byte) (any, *events.Fault) {
	var in verb.Answer
	j, fault := s.of(body)
	if fault != nil {
		return nil, fault
	}
	if err := json.Unmarshal(body, &in); err != nil || !slices.ContainsFunc(j.Inputs, func(q verb.Question) bool { return q.Request == in.Request }) {
		return nil, &events.Fault{Code: events.CodeConflict, Field: "request", Message: "it is closed", Hint: "jobgraph inputs"}
	}
	if s.slow {
		s.late = j.JobID
		return verb.Told{JobID: j.JobID, Accepted: true}, nil
	}
	s.changed(j.JobID, func(j *verb.Waited) {
		if j.Inputs = slices.DeleteFunc(j.Inputs, func(q verb.Question) bool { return q.Request == in.Request }); len(j.Inputs) == 0 {
			finish(j)
		}
	})
	return verb.Told{JobID: j.JobID, Accepted: true}, nil
}

func (s *site) stop(body []byte) (any, *events.Fault) {
	j, fault := s.of(body)
	if fault != nil {
		return nil, fault
	}
	if j.Status.Terminal() {
		return nil, &events.Fault{Code: events.CodeConflict, Message: "the job is " + string(j.Status), Hint: "jobgraph get"}
	}
	s.changed(j.JobID, func(j *verb.Waited) { j.Status, j.Ended = events.Stopped, true })
	return verb.Told{JobID: j.JobID, Accepted: true, Status: events.Stopped}, nil
}

func (s *site) list([]byte) (any, *events.Fault) {
	page := verb.Jobs{Jobs: []verb.JobLine{}, Total: len(s.jobs)}
	for id, j := range s.jobs {
		page.Jobs = append(page.Jobs, verb.JobLine{ID: id, Status: j.Status, Goal: "goal\nof " + id})
	}
	slices.SortFunc(page.Jobs, func(a, b verb.JobLine) int { return strings.Compare(a.ID, b.ID) })
	return page, nil
}

func (s *site) why(body []byte) (any, *events.Fault) {
	j, fault := s.of(body)
	if fault != nil {
		return nil, fault
	}
	return verb.Reasons{JobID: j.JobID, Status: j.Status, Blockers: json.RawMessage(`[]`)}, nil
}

func (s *site) plan(body []byte) (any, *events.Fault) {
	if string(body) != `{"plan_id":"trip"}` {
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "plan_id", Message: "there is no such plan", Hint: "jobgraph plan list"}
	}
	return object{"text": "", "plan": object{"id": "trip", "title": "Plan a trip", "lines": []object{}}, "request": object{"subjobs": []object{{"id": "a", "goal": "book"}}}}, nil
}
