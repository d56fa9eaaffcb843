package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// castle is a stack on a bus with roles: eve may submit, and boss may also approve.
type castle struct {
	*testing.T
	layout *secure.Layout
	where  string
	admin  *client.Client
}

// vars are the variables of an identity.
func (s *castle) vars(name string) []string {
	return []string{
		"NATS_CA=" + s.layout.CA(), "NATS_NKEY=" + s.layout.Seed(secure.DefaultTenant, name), "NATS_INBOX_PREFIX=_INBOX_" + name,
		"JOBGRAPH_SIGNERS=" + s.layout.Signers(secure.DefaultTenant),
	}
}

// routes connects clients to a gateway with the token of a user.
func (s *castle) routes() func(t *testing.T, user string, c *sdk.Client) *sdk.ClientSession {
	s.Helper()
	tokens := filepath.Join(s.TempDir(), "tokens.yaml")
	text := "version: 1\ntokens:\n  - {user: eve, roles: [submitter], token: token-of-eve-0123456789}\n  - {user: boss, roles: [submitter, approver], token: token-of-boss-0123456789}\n"
	musttest.Do(s, os.WriteFile(tokens, []byte(text), 0o600))
	_, url := atGateway(s.T, s.where, append(s.vars("gateway"), "JOBGRAPH_TOKENS="+tokens)...)
	return func(t *testing.T, user string, c *sdk.Client) *sdk.ClientSession {
		t.Helper()
		return musttest.Get(c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: holder("token-of-" + user + "-0123456789")}, MaxRetries: -1}, nil))(t)
	}
}

// approval has the step of a job ask for an approval, once its work waits.
func (s *castle) approval(t *testing.T, pool, job string) {
	t.Helper()
	n := s.admin.Names()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
		if m, err := s.admin.Bus().Streams().LastOn(ctx, n.Work, n.PoolWork(pool)); err == nil && m.Seq > 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("no work of %s comes", job)
		}
	}
	m, err := events.Encode(n, events.Event{
		Kind: events.KindInputRequested, ID: "may-" + job, Source: "test", Job: job, SubJob: "ask", Run: 1, Pool: pool, Data: &events.InputRequested{Request: "may", Kind: events.InputApproval, Prompt: "May I send it?"},
	})
	if err == nil {
		_, err = s.admin.Bus().Publish(ctx, m, bus.Expect{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// With roles an MCP client does what its user may, over standard input with a key and over HTTP with a token: it submits, hears how the
// job moves, is asked and answers; without the right to approve it is not asked for an approval, and cannot give one.
func TestAnMCPClientHasTheRightsOfItsUserOnABusWithRoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, card := filepath.Join(dir, "secure"), filepath.Join(dir, "counter.md")
	if err := os.WriteFile(card, []byte("---\nname: Counter\nkind: human\n---\nGo and look.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	person := func(name string, rights ...verb.Role) access.Identity {
		return access.Identity{Name: name, Role: access.Client, User: name, Rights: rights}
	}
	s := &castle{T: t}
	var err error
	s.layout, err = secure.Make(folder, &secure.Change{Listen: "127.0.0.1:0", Add: []access.Identity{person("eve", verb.Submitter), person("boss", verb.Submitter, verb.Approver)}})
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort"}
	stop, where := startUp(t, func(name string) (string, bool) { v, ok := vars[name]; return v, ok }, []string{"--secure", folder, "--experts", card})
	t.Cleanup(stop)
	s.where = where
	s.admin, err = client.Connect(t.Context(), bus.Options{
		URL: where, Name: "admin", CA: s.layout.CA(), NKey: s.layout.Seed(secure.DefaultTenant, "admin"), InboxPrefix: "_INBOX_admin", Signers: s.layout.Signers(secure.DefaultTenant),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.admin.Close)
	for name, connect := range map[string]func(t *testing.T, user string, c *sdk.Client) *sdk.ClientSession{"pipes": func(t *testing.T, user string, c *sdk.Client) *sdk.ClientSession {
		t.Helper()
		program := child(t, "jobgraph", s.where, "mcp")
		program.Env = append(program.Env, s.vars(user)...)
		return musttest.Get(c.Connect(t.Context(), &sdk.CommandTransport{Command: program}, nil))(t)
	}, "routes": s.routes()} {
		t.Run(name, func(t *testing.T) {
			asked, moved := make(chan string, 9), make(chan string, 1)
			eve := connect(t, "eve", sdkClient(seven, asked, moved))
			tool(t, eve, "submit", map[string]any{"id": name, "goal": "How many boxes are there?", "plan": json.RawMessage(countPlan)})
			end := tool(t, eve, "wait", map[string]any{"id": name, "timeout": "1h"})
			if !strings.Contains(end, `"status":"FINISHED"`) || !strings.Contains(end, `{"boxes":7}`) || len(asked) != 1 || !strings.Contains(<-asked, "Count the boxes in the hall") {
				t.Fatalf("%s after asking %d times", end, len(asked))
			}
			if by := s.by(t, name); by != "eve" {
				t.Errorf("%q has answered", by)
			}
			held := name + "-held"
			// Announce an expert of a pool whose worker never comes, and make a plan for it.
			_, err := s.admin.Bus().Experts().Put(t.Context(), name, []byte(`{"id":"`+name+`","name":"`+name+`","description":"Never comes.","pool":"`+name+`"}`), 0)
			if err == nil {
				err = s.admin.Bus().Queues().EnsurePool(t.Context(), name)
			}
			if err != nil {
				t.Fatal(err)
			}
			tool(t, eve, "submit", map[string]any{"id": held, "goal": "Send the letter", "plan": json.RawMessage(`{"subjobs":[{"id":"ask","goal":"Send the letter","expert":"` + name + `"}]}`)})
			s.approval(t, name, held)
			if open := tool(t, eve, "wait", map[string]any{"id": held, "timeout": "30s"}); !strings.Contains(open, "May I send it?") || len(asked) != 0 {
				t.Errorf("eve was asked %d times: %s", len(asked), open)
			}
			out, err := eve.CallTool(t.Context(), &sdk.CallToolParams{Name: "answer", Arguments: map[string]any{"id": held, "request": "may", "answer": map[string]any{"approved": true}}})
			if err != nil || !out.IsError || !strings.Contains(fmt.Sprint(out.Content[0].(*sdk.TextContent).Text), "may not approve actions") {
				t.Errorf("eve approves: %+v, %v", out, err)
			}
			if by := s.by(t, held); by != "" {
				t.Fatalf("%s has approved", by)
			}
			boss := connect(t, "boss", sdkClient(map[string]any{"approved": true}, asked, moved))
			tool(t, boss, "wait", map[string]any{"id": held, "timeout": "2s"})
			if by := s.by(t, held); by != "boss" || len(asked) != 1 {
				t.Errorf("%q has approved, asked %d times", by, len(asked))
			}
			for _, c := range []*sdk.ClientSession{eve, boss} {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			if len(moved) == 0 {
				t.Error("no progress was told")
			}
		})
	}
}

// by is who has answered the last request of a job; empty if none was answered.
func (s *castle) by(t *testing.T, job string) string {
	t.Helper()
	n := s.admin.Names()
	m, err := s.admin.Bus().Streams().LastOn(t.Context(), n.Log, n.Event(job, events.KindInputClosed)+".>")
	if errors.Is(err, bus.ErrNotFound) {
		return ""
	}
	var closed events.InputClosed
	if err == nil {
		err = json.Unmarshal(m.Body, &closed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return closed.By
}
