package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
)

// World is a model and a shop on the loopback interface. It can hold calls, as if they took long.
type World struct {
	url    string
	server *http.Server
	served chan error    // Receives the error with which serving ended.
	closed chan struct{} // Closed with the world, which releases held calls.
	// Caught receives the name of each held call: "model" or "shop". Its buffer is large enough for all.
	Caught chan string

	mu       sync.Mutex // Guards the fields below.
	holding  bool
	answered int // The number of questions that the model has answered.
	tokens   int // The number of tokens used by these answers.
	payments int
}

// Open starts the world. With hold, the second answer of a conversation and the answer to a payment are held until Release.
func Open(hold bool) (*World, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for model and shop: %w", err)
	}
	w := &World{
		Caught: make(chan string, 16), holding: hold, url: "http://" + listener.Addr().String(), served: make(chan error, 1), closed: make(chan struct{}),
	}
	model := llmtest.New(llmtest.Func(w.respond))
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/", func(out http.ResponseWriter, r *http.Request) { w.model(out, r, model) })
	mux.HandleFunc("POST /pay/{order}", w.pay)
	mux.HandleFunc("POST /did", w.did)
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { w.served <- w.server.Serve(listener) }() // Ends with Close, which waits for it.
	return w, nil
}

// URL returns the address of the world.
func (w *World) URL() string { return w.url }

// Close ends the world and the held calls.
func (w *World) Close() error {
	close(w.closed)
	err := w.server.Close()
	if served := <-w.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Release lets all held calls continue, and holds no further ones.
func (w *World) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holding = false
}

// Books returns the number of the model's answers, their tokens, and what the shop received.
func (w *World) Books() (answered, tokens, payments int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered, w.tokens, w.payments
}

// hold keeps a call until its caller is gone, if calls are held now.
func (w *World) hold(ctx context.Context, name string) bool {
	w.mu.Lock()
	holding := w.holding
	w.mu.Unlock()
	if holding {
		w.Caught <- name
		select {
		case <-ctx.Done():
		case <-w.closed:
		}
	}
	return holding
}

// second identifies the second question of a conversation.
const second = `"role":"tool"`

func (w *World) model(out http.ResponseWriter, r *http.Request, model http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil || strings.Contains(string(body), second) && w.hold(r.Context(), "model") {
		return // The caller is gone.
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	model.ServeHTTP(out, r)
}

// usage is the tokens of one answer.
const usage = 110

// respond is the model: it writes a note, reads it again, and answers in words.
func (w *World) respond(q llmtest.Question) (llmtest.Answer, error) {
	w.mu.Lock()
	w.answered++
	w.tokens += usage
	w.mu.Unlock()
	a := llmtest.Answer{Usage: &llmtest.Usage{Prompt: usage - 10, Completion: 10}}
	_, notes := q.Tools["write_file"]
	switch tool := q.Last("tool"); {
	case !notes:
		a.Text = "<deliverable>The order is noted and paid.</deliverable>"
	case tool == "":
		a.Calls = []llmtest.Call{{Name: "write_file", Args: `{"path":"order.txt","content":"order 7, one map"}`}}
	case strings.HasPrefix(tool, "wrote"):
		a.Calls = []llmtest.Call{{Name: "read_file", Args: `{"path":"order.txt"}`}}
	default:
		a.Text = "<deliverable>" + tool + "</deliverable>"
	}
	return a, nil
}

// pay accepts a payment and ignores idempotency keys: what is paid twice is paid twice.
func (w *World) pay(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.payments++
	n := w.payments
	w.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body) // Only a server that keeps reading notices that the caller is gone.
	if w.hold(r.Context(), "shop") {
		return
	}
	w.say(out, fmt.Sprintf(`{"receipt":%d}`, n))
}

// did says whether a payment was accepted, for the card's hook.
func (w *World) did(out http.ResponseWriter, _ *http.Request) {
	if _, _, payments := w.Books(); payments > 0 {
		w.say(out, fmt.Sprintf(`{"state":"done","result":{"receipt":%d}}`, payments))
		return
	}
	w.say(out, `{"state":"not_done"}`)
}

func (w *World) say(out http.ResponseWriter, body string) {
	out.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(out, body) // The caller may be gone.
}
