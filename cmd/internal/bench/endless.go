package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

const (
	agentID    = "agent"  // The agent whose model and tool never end.
	hungID     = "n0"     // The only SubJob of each hanging job.
	streamGoal = "stream" // The goal that makes the model stream endlessly.
	callGoal   = "call"   // The goal that makes the model call its tool.
	// streamTokens are written one by one, streamGap apart; then the stream stays open.
	streamTokens = 4000
	streamGap    = 2 * time.Millisecond
	// streamBegun is a number of pieces that only a stream reaches: a tool call takes fewer.
	streamBegun = 20
)

// endless is a model that streams endlessly, and an MCP server whose tool never returns, over HTTP.
type endless struct {
	kit    kit
	server *http.Server
	served chan struct{} // Closed when the server has ended.
	model  *llmtest.Server
	tokens atomic.Int64 // The tokens that the model has written in total.

	speaking, called chan struct{}  // One value per stream that has started, and one per call.
	silent           chan streamEnd // One value per closed stream.
	left             chan time.Time // One value per ended call.
}

// streamEnd is when a stream was closed, and the total number of written tokens.
type streamEnd struct {
	at      time.Time
	written int
}

// newEndless serves model and tool until close, and writes the card and the configuration of their agent.
func newEndless(dir string) (*endless, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve a model: %w", err)
	}
	e := &endless{
		served: make(chan struct{}), speaking: make(chan struct{}, 1), called: make(chan struct{}, 1),
		silent: make(chan streamEnd, 1), left: make(chan time.Time, 1),
	}
	e.model = llmtest.NewUnrecorded(llmtest.Func(goOn))
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", e.speak)
	mux.HandleFunc("/mcp", e.mcp)
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: slowest}
	go func() { // Ends with close.
		defer close(e.served)
		_ = e.server.Serve(listener) // Only its end matters.
	}()
	url := "http://" + listener.Addr().String()
	e.kit = kit{Cards: []string{filepath.Join(dir, "agent.md")}, Config: filepath.Join(dir, "jobgraph.yaml"), Model: url + "/v1"}
	card := "---\nid: " + agentID + "\nname: " + agentID + "\nkind: llm\ntools: [hang__wait]\n---\nYou go on.\n"
	config := "version: 1\nmcpServers:\n  hang: {url: \"" + url + "/mcp\"}\n"
	err = errors.Join(os.WriteFile(e.kit.Cards[0], []byte(card), 0o600), os.WriteFile(e.kit.Config, []byte(config), 0o600))
	if err != nil {
		e.close()
		return nil, fmt.Errorf("make agent: %w", err)
	}
	return e, nil
}

func (e *endless) close() {
	_ = e.server.Close() // Ends open connections too.
	<-e.served
}

// goOn is the scripted model: it never ends by itself.
func goOn(q llmtest.Question) (llmtest.Answer, error) {
	if strings.Contains(q.All(), callGoal+" without end") {
		return llmtest.Answer{Calls: []llmtest.Call{{Name: "hang__wait", Args: "{}"}}}, nil
	}
	return llmtest.Answer{Text: strings.Repeat("word ", streamTokens), Chunk: len("word "), Gap: streamGap, Fault: llmtest.Hang}, nil
}

// speak serves the model, and reports streams that the client closes.
func (e *endless) speak(w http.ResponseWriter, r *http.Request) {
	s := &speech{ResponseWriter: w, endless: e}
	e.model.ServeHTTP(s, r)
	if s.words >= streamBegun { // It would not have ended by itself.
		e.silent <- streamEnd{time.Now(), int(e.tokens.Load())}
	}
}

// speech counts what the model writes.
type speech struct {
	http.ResponseWriter
	endless *endless
	words   int
}

// Flush implements http.Flusher: a piece is being sent.
func (s *speech) Flush() {
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	s.endless.tokens.Add(1)
	if s.words++; s.words == streamBegun {
		s.endless.speaking <- struct{}{}
	}
}

// mcp is an MCP server with one tool that never returns, with the few messages that this requires.
func (e *endless) mcp(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var asked struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var result any = struct{}{}
	switch asked.Method {
	case "initialize":
		result = map[string]any{
			"protocolVersion": asked.Params.Version, "capabilities": map[string]any{"tools": struct{}{}},
			"serverInfo": map[string]string{"name": "hang", "version": "1"},
		}
	case "tools/list":
		result = map[string]any{"tools": []any{map[string]any{"name": "wait", "inputSchema": map[string]string{"type": "object"}}}}
	case "tools/call":
		e.called <- struct{}{}
		<-r.Context().Done()
		e.left <- time.Now()
		return
	}
	if asked.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": asked.ID, "result": result}) // The client may be gone.
}

// await receives one value from a channel, as long as patience lasts.
func await[T any](ctx context.Context, from <-chan T) (x T, err error) {
	ctx, cancel := patience(ctx, 1)
	defer cancel()
	select {
	case x = <-from:
		return x, nil
	case <-ctx.Done():
		return x, context.Cause(ctx)
	}
}
