package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/mcp"
)

// Whatever a peer sends, it gets a named error, and the gateway continues to serve all others.
func TestAPeerThatBreaksTheProtocolIsToldHow(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", asking(verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}))
	other := s.connect(g, token(verb.Viewer), "2025-11-25", nil)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	auth := "Bearer " + token(verb.Submitter)
	newer := func(method, name string) map[string]string {
		return map[string]string{"Authorization": auth, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
	}
	older := func(session string) map[string]string {
		return map[string]string{"Authorization": auth, "Mcp-Session-Id": session}
	}
	wait := newer("tools/call", "wait")
	for name, test := range map[string]struct {
		header map[string]string
		body   string
		status int
		want   string
	}{
		"no token":         {map[string]string{}, `{}`, 401, `"code":"unauthenticated"`},
		"foreign page":     {map[string]string{"Authorization": auth, "Origin": "https://evil.example"}, `{}`, 403, `"code":"not_permitted"`},
		"no JSON":          {newer("tools/list", ""), `{"jsonrpc":`, 400, `"code":"malformed"`},
		"no JSON before":   {older(""), `{"jsonrpc":`, 400, `"code":"malformed"`},
		"nothing":          {newer("tools/list", ""), ``, 400, `"code":"malformed"`},
		"broken text":      {newer("tools/call", "list"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"list","arguments":{"user":"` + "\xff" + `"}}}`, 400, `"code":"malformed"`},
		"too large":        {newer("tools/list", ""), `"` + strings.Repeat("x", 65<<10) + `"`, 413, `"code":"too_large"`},
		"unknown method":   {newer("no/such", ""), `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + meta + `}}`, 404, `"code":-32601`},
		"other method":     {newer("tools/list", ""), `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{` + meta + `}}`, 400, `"code":-32020`},
		"unknown session":  {older("made-up"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 404, `"hint":"the session has ended with its gateway: initialize a new one`},
		"another's":        {older(other.ID()), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 403, `"code":"not_permitted"`},
		"not initialized":  {older(""), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"error":{`},
		"no such revision": {map[string]string{"Authorization": auth, "Mcp-Protocol-Version": "2099-01-01"}, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, 400, `"code":-32`},
		"arguments":        {wait, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"wait","arguments":[1]}}`, 200, `\"code\":\"malformed\"`},
		"unfit answer":     {wait, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"wait","arguments":{"id":"j"},"inputResponses":{"ask":{"action":"accept","content":{"size":"big"}}}}}`, 200, `\"code\":\"invalid\"`},
		"no answer":        {wait, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"wait","arguments":{"id":"j"},"inputResponses":{"ask":7}}}`, 400, `"error":{"code":-32`},
	} {
		status, text := s.post(g, test.header, test.body)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d %s, want %d %s", name, status, text, test.status, test.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		r := musttest.Get(http.NewRequestWithContext(t.Context(), method, g.URL+"/mcp", http.NoBody))(t)
		r.Header.Set("Authorization", auth)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if _ = answer.Body.Close(); err != nil || answer.StatusCode < 400 || !strings.Contains(string(text), `"code":`) {
			t.Errorf("%s: %d %s", method, answer.StatusCode, text)
		}
	}
	if out, _ := s.call(other, "inputs", object{"id": "j"}); out.IsError || len(s.told()) > 0 {
		t.Errorf("afterwards: %v, told %q", out, s.told())
	}
}

// What a session asks its person is answered with the rights of the call that waits. A token of the same user with fewer roles may not
// answer it.
func TestASessionBelongsToTheRolesOfItsToken(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", asking(verb.Question{Kind: events.InputApproval, Prompt: "Pay?"}))
	asked, done := make(chan struct{}), make(chan struct{})
	c := s.connect(g, token(verb.Approver), "2025-11-25", &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		close(asked)
		<-done
		return &sdk.ElicitResult{Action: "decline"}, nil
	}})
	waited := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "wait", Arguments: object{"id": "j"}})
		waited <- err
	}()
	<-asked
	for id := range 5 { // Some of them is the question's.
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"approved":true}}}`, id)
		status, text := s.post(g, map[string]string{"Authorization": "Bearer " + narrow, "Mcp-Session-Id": c.ID(), "Mcp-Protocol-Version": "2025-11-25"}, answer)
		if status != http.StatusForbidden || !strings.Contains(text, "other roles") {
			t.Errorf("%d %s", status, text)
		}
	}
	close(done)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if told := s.told(); len(told) > 0 {
		t.Errorf("a viewer has approved: %q", told)
	}
}

// The stream on which a session hears of the server ends when its token is removed.
func TestTheStreamOfARevokedTokenEnds(t *testing.T) {
	s := open(t)
	g := s.start()
	way := &sdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token(verb.Viewer))}, DisableStandaloneSSE: true}
	c := musttest.Get(sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), way, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	defer func() { _ = c.Close() }() // Its token is gone.
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	r := musttest.Get(http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/mcp", http.NoBody))(t)
	for name, value := range map[string]string{"Authorization": "Bearer " + token(verb.Viewer), "Accept": "text/event-stream", "Mcp-Session-Id": c.ID(), "Mcp-Protocol-Version": "2025-11-25"} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The body has been read.
	musttest.Write(t, s.tokens, "version: 1\ntokens:\n  - {user: ann, roles: [viewer], token: "+narrow+"}\n")
	if changed, err := s.keeper.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if text := musttest.Get(io.ReadAll(answer.Body))(t); answer.StatusCode != http.StatusOK || strings.Contains(string(text), "data:") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}

// hesitant begins a session of a submitter whose person never answers.
func (s *site) hesitant(g *gateway) *sdk.ClientSession {
	s.Helper()
	way := &sdk.StreamableClientTransport{Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token(verb.Submitter))}, DisableStandaloneSSE: true}
	o := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("not here")
	}}
	return musttest.Get(sdk.NewClient(&sdk.Implementation{Name: "test"}, o).Connect(s.Context(), way, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(s)
}

// waits begins to wait for job j in a session, until its question is asked; asked is false if the wait has ended without. rest reads what
// comes after that.
func (s *site) waits(ctx context.Context, g *gateway, session string, n int) (asked bool, rest func() string) {
	s.Helper()
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","method":"tools/call","params":{"name":"wait","arguments":{"id":"j"}}}`, n)
	r := musttest.Get(http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/mcp", strings.NewReader(call)))(s)
	for name, value := range map[string]string{"Authorization": "Bearer " + token(verb.Submitter), "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"} {
		r.Header.Set(name, value)
	}
	var err error
	lines := bufio.NewReader(s.begun(r))
	for !asked && err == nil {
		var line string
		line, err = lines.ReadString('\n')
		asked = strings.Contains(line, "elicitation/create")
	}
	return asked, func() string { return string(musttest.Get(io.ReadAll(lines))(s)) }
}

// begun sends a request and returns the body of its answer, which is closed with the test.
func (s *site) begun(r *http.Request) io.Reader {
	s.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = answer.Body.Close() }) // The body has been read.
	if answer.StatusCode != http.StatusOK {
		s.Fatal(answer.Status)
	}
	return answer.Body
}

// A call that waits for what a person says ends when its token is removed.
func TestAQuestionOfARevokedTokenEnds(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", asking(verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}))
	c := s.hesitant(g)
	defer func() { _ = c.Close() }() // Its token is gone.
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	_, rest := s.waits(ctx, g, c.ID(), 1)
	musttest.Write(t, s.tokens, "version: 1\ntokens:\n  - {user: ann, roles: [viewer], token: "+narrow+"}\n")
	if changed, err := s.keeper.Refresh(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if text := rest(); !strings.Contains(text, "the token was revoked") || len(s.told()) > 0 {
		t.Errorf("%s, told %q", text, s.told())
	}
}

// A call that waits for what a person says takes one of the places for streams, until it ends or its client leaves.
func TestQuestionsThatWaitAreLimited(t *testing.T) {
	s := open(t)
	g := s.start()
	s.change("j", asking(verb.Question{Kind: events.InputForm, Prompt: "Size?", Schema: flatForm}))
	c := s.hesitant(g)
	defer func() { _ = c.Close() }() // Only its session counts.
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	n := 0
	for asked := true; asked && n <= streams; n++ {
		asked, _ = s.waits(ctx, g, c.ID(), n)
	}
	if want := streams - streams/8 + 1; n != want {
		t.Errorf("question %d was refused, want %d", n, want)
	}
	leave()
	patient, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	for asked := false; !asked && patient.Err() == nil; n++ {
		asked, _ = s.waits(patient, g, c.ID(), n)
		<-time.After(5 * time.Millisecond)
	}
	if patient.Err() != nil {
		t.Error("the places of those who left are not free")
	}
}

// Each message of a batch counts as a request.
func TestABatchIsAsManyRequestsAsItHasMessages(t *testing.T) {
	s := open(t)
	g := s.start()
	batch := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, n), ",") + "]"
	}
	header := map[string]string{"Authorization": "Bearer " + token(verb.Viewer), "Mcp-Protocol-Version": "2025-03-26"}
	if status, text := s.post(g, header, batch(most+2)); status != http.StatusTooManyRequests || !strings.Contains(text, `"code":"too_many_requests"`) {
		t.Errorf("too many: %d %s", status, text)
	}
	if status, text := s.post(g, header, batch(3)); status == http.StatusTooManyRequests {
		t.Errorf("three: %d %s", status, text)
	}
	header["Authorization"] = "Bearer " + token(verb.Submitter)
	if status, text := s.post(g, header, batch(3)); status == http.StatusTooManyRequests {
		t.Errorf("three of another user: %d %s", status, text)
	}
}

// One user alone leaves room for others.
func TestSessionsAreLimited(t *testing.T) {
	s := open(t)
	g := s.start()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	begun := func(role verb.Role) (n int) {
		for ; n <= sessions; n++ {
			status, text := s.post(g, map[string]string{"Authorization": "Bearer " + token(role)}, hello)
			if status == http.StatusTooManyRequests {
				return n
			}
			if status != http.StatusOK {
				t.Fatalf("session %d of the %s: %d %s", n+1, role, status, text)
			}
		}
		return n
	}
	got := []int{begun(verb.Viewer), begun(verb.Submitter), begun(verb.Viewer), begun(verb.Operator)}
	if d := cmp.Diff([]int{sessions - sessions/8, sessions / 8, 0, 0}, got); d != "" {
		t.Errorf("sessions of a viewer, of a submitter, of both again (-want +got):\n%s", d)
	}
	if out, _ := s.call(s.connect(g, token(verb.Viewer), "2026-07-28", nil), "list", nil); out.IsError {
		t.Error("a client without a session was refused")
	}
}

// buggy is a door whose answers panic.
type buggy struct{ mcp.Door }

// Do implements mcp.Door.
func (buggy) Do(context.Context, identity.Identity, string, any) (json.RawMessage, error) {
	panic("a bug")
}

func TestABugEndsOneRequestAlone(t *testing.T) {
	s := open(t)
	keeper, local := identity.Alone("anna", verb.Admin)
	_, door := s.door(t.Context(), keeper)
	ours, theirs := io.Pipe()
	back, out := io.Pipe()
	served := make(chan error, 1)
	go func() { // Ends with the client.
		served <- mcp.New(mcp.Settings{Door: buggy{door}, Local: local, Log: slog.New(slog.DiscardHandler), Body: 64 << 10}).Serve(t.Context(), ours, out)
	}()
	c := musttest.Get(sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: back, Writer: theirs}, nil))(t)
	for range 2 {
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list"}); code(err) != -32603 || !strings.Contains(err.Error(), "a bug in it") {
			t.Errorf("%v", err)
		}
	}
	_ = c.Close() // Its error is that of the pipe.
	if err := <-served; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// Over standard input and output, a line that is not a message gets an error as its answer and does not end the program; nothing
// but the protocol is written.
func TestLinesThatAreNoMessagesAreAnswered(t *testing.T) {
	s := open(t)
	keeper, local := identity.Alone("anna", verb.Admin)
	_, door := s.door(t.Context(), keeper)
	ours, theirs := io.Pipe()
	back, out := io.Pipe()
	served := make(chan error, 1)
	go func() { // Ends with the input.
		served <- mcp.New(mcp.Settings{Door: door, Local: local, Log: slog.New(slog.DiscardHandler), Body: 64 << 10}).Serve(t.Context(), ours, out)
		_ = out.Close() // It never fails.
	}()
	lines := bufio.NewScanner(back)
	lines.Buffer(nil, 1<<20)
	for _, test := range []struct{ line, want string }{
		{`hello`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"`, `"code":-32700`},
		{"\"\xff\"", `"code":-32700`},
		{strings.Repeat("x", 65<<10), `"code":-32600`},
		{`[]`, `"code":-32600`},
		{`7`, `"code":-32600`},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"id":2,"error":`},
		{`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"id":3,"result":{`},
		{`{"jsonrpc":"2.0","id":4,"method":"no/such"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"submit","arguments":{"goal":"g","id":"s"}}}`, `"structuredContent":{"job_id":"s"`},
	} {
		musttest.Get(io.WriteString(theirs, test.line+"\n"))(t)
		if !lines.Scan() {
			t.Fatalf("%.80s: the output has ended: %v", test.line, lines.Err())
		}
		var message struct {
			Version string `json:"jsonrpc"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil || message.Version != "2.0" || !strings.Contains(lines.Text(), test.want) {
			t.Errorf("%.80s: %s, want %s", test.line, lines.Text(), test.want)
		}
	}
	if told := s.told(); len(told) != 1 || told[0] != `submit {"goal":"g","id":"s","user":"anna"}` {
		t.Errorf("told %q", told)
	}
	_ = theirs.Close() // It never fails.
	if err := <-served; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if lines.Scan() {
		t.Errorf("more was written: %s", lines.Text())
	}
}
