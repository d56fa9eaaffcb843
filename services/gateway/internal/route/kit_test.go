package route_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

// token is the token of a user whose name is a role.
func token(role verb.Role) string { return "token-of-" + string(role) + "-123456789" }

// site is a gateway with a bus on which a test answers the verbs.
type site struct {
	*testing.T
	bus     *bus.Bus
	server  *httptest.Server
	gateway *route.Gateway
	keeper  *identity.Keeper
	tokens  string
	log     *lines

	mu    sync.Mutex   // Guards the fields below.
	asked []string     // "verb input" of each request on the bus.
	by    *seal.Signer // Who may be behind the last one; nil for everyone.
}

// lines is a log that several goroutines write to.
type lines struct {
	mu   sync.Mutex // Guards text.
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// answers maps verbs to the test's answers; any other verb returns its input. A verb whose answer is nil has no service.
type answers map[string]func(body []byte) ([]byte, *events.Fault)

// open starts a gateway with a token for each role.
func open(t *testing.T, a answers, change func(*route.Settings)) *site {
	t.Helper()
	s := &site{T: t, bus: bustest.Start(t, bustest.Settings{}).Bus("gateway"), tokens: filepath.Join(t.TempDir(), "tokens.yaml"), log: &lines{}}
	endpoints := map[string]bus.Endpoint{}
	for _, v := range verb.All() {
		if answer, ok := a[v.Name]; v.On == "" || v.Each || ok && answer == nil {
			continue
		}
		endpoints[v.Name] = func(ctx context.Context, body []byte) ([]byte, *events.Fault) {
			who, _, _ := s.bus.Services().Signer(ctx) // No signature is required here.
			s.mu.Lock()
			s.asked, s.by = append(s.asked, v.Name+" "+string(body)), who
			s.mu.Unlock()
			if answer, ok := a[v.Name]; ok {
				return answer(body)
			}
			return body, nil
		}
	}
	stop, err := s.bus.Services().Serve("jobgraph-scheduler", "", nil, endpoints, verb.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	s.write(verb.Roles()...)
	if s.keeper, err = identity.NewKeeper("", s.tokens, nil); err != nil {
		t.Fatal(err)
	}
	settings := route.Settings{
		Client: client.New(s.bus), Guard: &identity.Guard{Keeper: s.keeper, Cookie: "c", Origins: []string{"https://console.example.org"}},
		Body: 64 << 10, Streams: 100, Beat: time.Minute, Write: 10 * time.Second, Version: "v1.2.3",
		Health: func(context.Context) []host.Reason { return nil },
		Log:    slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&settings)
	}
	end, drain := context.WithCancel(context.Background())
	t.Cleanup(drain)
	s.gateway = route.New(end, settings)
	s.server = httptest.NewServer(s.gateway)
	t.Cleanup(s.server.Close)
	t.Cleanup(drain)
	return s
}

// write writes a file of tokens for some roles.
func (s *site) write(roles ...verb.Role) {
	s.Helper()
	text := "version: 1\ntokens:\n"
	for _, role := range roles {
		text += fmt.Sprintf("  - {user: %s, roles: [%s], token: %s}\n", role, role, token(role))
	}
	musttest.Write(s, s.tokens, text)
}

// request makes a request as a role; an empty role sends no token.
func (s *site) request(role verb.Role, method, path, body string) *http.Request {
	s.Helper()
	r := musttest.Get(http.NewRequestWithContext(s.Context(), method, s.server.URL+path, strings.NewReader(body)))(s)
	if role != "" {
		r.Header.Set("Authorization", "Bearer "+token(role))
	}
	return r
}

// reply is the head of an answer.
type reply struct {
	StatusCode int
	Header     http.Header
}

// do sends a request and returns its answer with the body.
func (s *site) do(r *http.Request) (reply, string) {
	s.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	body := musttest.Get(io.ReadAll(answer.Body))(s)
	return reply{answer.StatusCode, answer.Header}, string(body)
}

// ask is do with a role's token.
func (s *site) ask(role verb.Role, method, path, body string) (status int, answer string) {
	s.Helper()
	r, text := s.do(s.request(role, method, path, body))
	return r.StatusCode, text
}

// refused fails the test unless a request is refused with this status and code, and a hint.
func (s *site) refused(r *http.Request, status int, code events.Code) {
	s.Helper()
	answer, body := s.do(r)
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		s.refusedLikeOpenAI(r, answer, body, status, code)
		return
	}
	var p struct {
		Status  int         `json:"status"`
		Code    events.Code `json:"code"`
		Message string      `json:"message"`
		Hint    string      `json:"hint"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || answer.StatusCode != status || p.Status != status || p.Code != code || p.Message == "" || p.Hint == "" ||
		answer.Header.Get("Content-Type") != "application/problem+json" {
		s.Errorf("%s %s: %d %s %s, want %d %s with a message and a hint", r.Method, r.URL, answer.StatusCode, answer.Header.Get("Content-Type"), body, status, code)
	}
}

// refusedLikeOpenAI checks a refusal in the form of OpenAI's API.
func (s *site) refusedLikeOpenAI(r *http.Request, answer reply, body string, status int, code events.Code) {
	s.Helper()
	var p struct {
		Error struct {
			Message string      `json:"message"`
			Type    string      `json:"type"`
			Code    events.Code `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || answer.StatusCode != status || p.Error.Code != code || p.Error.Type == "" || !strings.Contains(p.Error.Message, " → ") ||
		answer.Header.Get("Content-Type") != "application/json" {
		s.Errorf("%s %s: %d %s %s, want %d %s with a message and a hint", r.Method, r.URL, answer.StatusCode, answer.Header.Get("Content-Type"), body, status, code)
	}
}

// last returns the last request on the bus.
func (s *site) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return ""
	}
	return s.asked[len(s.asked)-1]
}

// state publishes a fact of a job.
func (s *site) state(job string, e events.Event) uint64 {
	s.Helper()
	e.Job, e.Source = job, "test"
	m := musttest.Get(events.Encode(s.bus.Names(), e))(s)
	return musttest.Get(s.bus.Publish(s.Context(), m, bus.Expect{}))(s)
}
