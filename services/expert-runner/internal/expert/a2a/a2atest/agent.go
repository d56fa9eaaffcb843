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

// Settings say what agent is played.
type Settings struct {
	// Old is true for spec 0.3; REST, of 1.0 alone, for HTTP+JSON in the place of JSON-RPC.
	Old, REST bool
	// Streaming and Push are what its card says that it can do.
	Streaming, Push bool
}

// Agent is an agent that runs.
type Agent struct {
	// URL is where it and its card are.
	URL string

	settings Settings
	play     Play
	over     context.Context // Ends with the test; kept, since the server lets go of what it plays at some other time.

	mu      sync.Mutex // Guards the fields below.
	heard   []Heard
	cancels []string
	calls   int
	done    int
}

// Heard is a message as the agent got it.
type Heard struct {
	// Message is the message itself, in the form of spec 1.0.
	Message *sdk.Message
	// Header is that of its request.
	Header http.Header
}

// Play is what an agent does about one message. It returns when the agent has nothing more to say.
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
		_, _ = w.Write(a.Card()) // Otherwise the client is gone.
	})
	return a
}

// handler is the server of the SDK that the settings ask for.
func (a *Agent) handler() http.Handler {
	if a.settings.Old {
		return patient(a.old())
	}
	return patient(a.new())
}

// patient has a request again that came before the SDK was done with the message before: a state can be asked for a moment earlier
// than that. Nothing is played for such a request. A stream is left as it is: it ends with what is played.
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

// count notes every request before the SDK has it.
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

// headerKey is where the header of a request is on its way through the SDK.
type headerKey struct{}

// Card is the agent's card.
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
	raw, _ := json.Marshal(card) // It is made of texts alone.
	return raw
}

// perform plays what the agent does about one message.
func (a *Agent) perform(ctx context.Context, s *Stage) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(a.over, end)()
	s.Ctx = ctx
	a.hear(ctx, s.Message)
	a.play(s)
}

// hear notes a message.
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

// Heard is every message that it was sent.
func (a *Agent) Heard() []Heard {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Heard(nil), a.heard...)
}

// Cancels are the tasks that it was told to give up.
func (a *Agent) Cancels() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.cancels...)
}

// Answered counts the requests that it has answered.
func (a *Agent) Answered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Calls counts the requests of every kind.
func (a *Agent) Calls() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}
