package a2atest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Settings configures a test agent.
type Settings struct {
	// Old selects spec 0.3. REST selects HTTP+JSON instead of JSON-RPC, for spec 1.0 only.
	Old, REST bool
	// Streaming and Push are the capabilities on its card.
	Streaming, Push bool
}

// Agent is a running test agent.
type Agent struct {
	// URL is the address of the agent and its card.
	URL string

	settings Settings
	play     Play
	over     context.Context // Ends with the test; stored because the server ends its handlers at another time.

	mu      sync.Mutex // Guards the fields below.
	heard   []Heard
	cancels []string
	calls   int
	done    int
}

// Heard is a received message.
type Heard struct {
	// Message is the message itself, in the form of spec 1.0.
	Message *sdk.Message
	// Header is the header of its request.
	Header http.Header
}

// Play is the agent's reaction to one message. It returns when the agent has nothing more to say.
type Play func(s *Stage)

// Start runs an agent until the test ends.
func Start(tb testing.TB, s Settings, play Play) *Agent {
	tb.Helper()
	over, end := context.WithCancel(context.Background())
	a := &Agent{settings: s, play: play, over: over}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	tb.Cleanup(func() { end(); server.Close() })
	a.URL = server.URL
	mux.Handle("/call/", a.count(a.handler()))
	mux.Handle("/call", a.count(a.handler()))
	path := "/.well-known/agent-card.json"
	if s.Old {
		path = "/.well-known/agent.json"
	}
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.Card()) // On an error the client is gone.
	})
	return a
}

// handler returns the SDK's server for the settings.
func (a *Agent) handler() http.Handler {
	if a.settings.Old {
		return patient(a.old())
	}
	return patient(a.new())
}

// patient repeats a request that arrived before the SDK had finished the previous message, which is possible because a state is
// visible slightly earlier. Such a request plays nothing. Streams are left alone: they end with what is played.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for {
			answer := httptest.NewRecorder()
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(answer, r)
			if bytes.Contains(answer.Body.Bytes(), []byte("task execution is already in progress")) && r.Context().Err() == nil {
				runtime.Gosched()
				continue
			}
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes()) // Otherwise the client is gone.
			return
		}
	})
}

// count counts every request before the SDK gets it.
func (a *Agent) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.calls++
		a.mu.Unlock()
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.done++
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), headerKey{}, r.Header)))
	})
}

// headerKey is the context key of a request's header.
type headerKey struct{}

// Card returns the agent's card.
func (a *Agent) Card() []byte {
	binding := "JSONRPC"
	if a.settings.REST {
		binding = "HTTP+JSON"
	}
	card := map[string]any{
		"name": "Played", "description": "plays a script", "version": "1", "defaultInputModes": []string{"text/plain", "application/json"},
		"defaultOutputModes": []string{"text/plain"}, "capabilities": map[string]any{"streaming": a.settings.Streaming, "pushNotifications": a.settings.Push},
		"skills": []any{map[string]any{"id": "play", "name": "Play", "description": "plays", "tags": []string{"test"}, "examples": []string{"play it"}}},
	}
	if a.settings.Old {
		card["protocolVersion"], card["url"], card["preferredTransport"] = "0.3.0", a.URL+"/call", binding
	} else {
		card["supportedInterfaces"] = []any{map[string]any{"url": a.URL + "/call", "protocolBinding": binding, "protocolVersion": "1.0"}}
	}
	raw, _ := json.Marshal(card) // It consists of strings only.
	return raw
}

// perform plays the reaction to one message.
func (a *Agent) perform(ctx context.Context, s *Stage) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(a.over, end)()
	s.Ctx = ctx
	a.hear(ctx, s.Message)
	a.play(s)
}

// hear records a message.
func (a *Agent) hear(ctx context.Context, m *sdk.Message) {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, Heard{m, header.Clone()})
}

func (a *Agent) cancelled(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancels = append(a.cancels, task)
}

// Heard returns all received messages.
func (a *Agent) Heard() []Heard {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Heard(nil), a.heard...)
}

// Cancels returns the tasks that it was asked to cancel.
func (a *Agent) Cancels() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.cancels...)
}

// Answered counts its answers.
func (a *Agent) Answered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Calls counts all requests.
func (a *Agent) Calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}
