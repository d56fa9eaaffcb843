package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/net/websocket"
)

// stranger is a remote agent of the A2A protocol 0.3 that streams. The text of a message says what it does: "FAIL!", "ASK!",
// "CHAT!"; otherwise it returns the context that it received.
type stranger struct {
	url string

	mu    sync.Mutex // Guards the fields below.
	tasks int
}

// remoteAgent serves a remote agent, which A2A_URL names.
func remoteAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: a2a")
	}
	a := &stranger{}
	served := httptest.NewServer(a)
	ts.Defer(served.Close)
	a.url = served.URL
	ts.Setenv("A2A_URL", served.URL)
}

func (a *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"protocolVersion": "0.3.0", "name": "Stranger", "description": "Knows figures of companies", "url": a.url + "/call", "version": "1", "preferredTransport": "JSONRPC",
			"capabilities": map[string]any{"streaming": true}, "defaultInputModes": []string{"text/plain"}, "defaultOutputModes": []string{"text/plain"},
			"skills": []any{map[string]any{"id": "figures", "name": "Figures", "description": "Looks figures up", "tags": []string{"finance"}}},
		})
		return
	}
	var call struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
		Params struct {
			Message struct {
				TaskID    string `json:"taskId"`
				ContextID string `json:"contextId"`
				Parts     []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"message"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if call.Method != "message/stream" {
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32601, "message": "unknown method " + call.Method}})
		return
	}
	m := call.Params.Message
	t := &errandTask{id: m.TaskID, context: m.ContextID, fresh: m.TaskID == "", send: func(result map[string]any) {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": result})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", body)
		}
	}}
	a.mu.Lock()
	a.tasks++
	if t.fresh {
		t.id = fmt.Sprint("task-", a.tasks)
	}
	if t.context == "" {
		t.context = fmt.Sprint("context-", a.tasks)
	}
	a.mu.Unlock()
	text := ""
	for _, part := range m.Parts {
		text += part.Text + "\n"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	t.play(text)
}

// errandTask is one task of a stranger.
type errandTask struct {
	id, context string
	fresh       bool
	send        func(map[string]any)
}

func (t *errandTask) play(text string) {
	if t.fresh {
		t.send(map[string]any{"kind": "task", "id": t.id, "contextId": t.context, "status": map[string]any{"state": "submitted"}})
	}
	switch {
	case strings.Contains(text, "FAIL!"):
		t.status("failed", "the figures are locked away", nil)
		return
	case strings.Contains(text, "ASK!") && t.fresh:
		t.status("input-required", "Which year?", nil)
		return
	case !t.fresh:
		t.artifact("the year was " + strings.TrimSpace(text))
	case strings.Contains(text, "CHAT!"):
		t.status("working", "let me see", map[string]any{"response_event": "reasoning"})
		t.status("working", "", map[string]any{"response_event": "tool_call_started", "tool_call_id": "t1", "tool_name": "search", "tool_args": map[string]any{"q": "box"}})
		t.status("working", "", map[string]any{"response_event": "tool_call_completed", "tool_call_id": "t1", "tool_name": "search", "tool_result": "found"})
		t.status("working", `{"title":"T"}`, map[string]any{"response_event": "component_generator", "component_type": "report", "component_id": "r1"})
		for _, piece := range []string{"under ", "the ", "stairs"} {
			t.status("working", piece, map[string]any{"response_event": "message_chunk"})
		}
	default:
		t.artifact("said in " + t.context)
	}
	t.status("completed", "", nil)
}

func (t *errandTask) status(state, text string, meta map[string]any) {
	status := map[string]any{"state": state}
	if text != "" {
		status["message"] = map[string]any{
			"kind": "message", "messageId": t.id + "-" + state, "role": "agent", "taskId": t.id, "contextId": t.context, "parts": []any{map[string]any{"kind": "text", "text": text}},
		}
	}
	t.send(map[string]any{
		"kind": "status-update", "taskId": t.id, "contextId": t.context, "status": status, "metadata": meta,
		"final": state == "completed" || state == "failed" || state == "input-required",
	})
}

func (t *errandTask) artifact(text string) {
	t.send(map[string]any{
		"kind": "artifact-update", "taskId": t.id, "contextId": t.context,
		"artifact": map[string]any{"artifactId": "a", "parts": []any{map[string]any{"kind": "text", "text": text}}},
	})
}

// mcpWeb serves the bank of mcpServer over HTTP, server-sent events and WebSockets, which MCP_URL names.
func mcpWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: mcp")
	}
	s := bank(ts.MkAbs("webbook"))
	get := func(*http.Request) *sdk.Server { return s }
	routes := http.NewServeMux()
	routes.Handle("/http", sdk.NewStreamableHTTPHandler(get, nil))
	routes.Handle("/sse", sdk.NewSSEHandler(get, nil))
	routes.Handle("/ws", websocket.Handler(func(c *websocket.Conn) {
		served, err := s.Connect(c.Request().Context(), &sdk.IOTransport{Reader: &frames{conn: c}, Writer: c}, nil)
		if err == nil {
			_ = served.Wait()
		}
	}))
	served := httptest.NewServer(routes)
	ts.Defer(func() {
		served.CloseClientConnections()
		served.Close()
	})
	ts.Setenv("MCP_URL", served.URL)
	ts.Setenv("MCP_SOCKET", "ws"+strings.TrimPrefix(served.URL, "http"))
}

// frames reads the messages of a WebSocket as lines.
type frames struct {
	conn *websocket.Conn
	rest []byte
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		var m []byte
		if err := websocket.Message.Receive(f.conn, &m); err != nil {
			return 0, errors.Join(err, io.EOF)
		}
		f.rest = append(m, '\n')
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *frames) Close() error { return f.conn.Close() }
