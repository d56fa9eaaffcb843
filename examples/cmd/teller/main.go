package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:14400", "the `address` to serve at")
	flag.Parse()
	if err := serve(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "teller:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	at := "http://" + listener.Addr().String()
	fmt.Fprintln(os.Stderr, "teller: card at "+at+"/.well-known/agent-card.json")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) { write(w, card(at)) })
	mux.Handle("POST /a2a", &teller{tasks: map[string]*task{}})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute}
	return server.Serve(listener)
}

// card describes the agent.
func card(at string) any {
	return map[string]any{
		"name": "Teller", "description": "Counts the lines and words of a text", "version": "1.0.0",
		"supportedInterfaces": []any{map[string]any{"url": at + "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}},
		"capabilities":        map[string]any{}, "defaultInputModes": []string{"text/plain", "application/json"},
		"defaultOutputModes": []string{"application/json"},
		"skills":             []any{map[string]any{"id": "count", "name": "Count", "description": "lines and words", "tags": []string{"text"}}},
	}
}

// call is a request of JSON-RPC, as far as the teller needs it.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ID      string  `json:"id"`
		Message message `json:"message"`
	} `json:"params"`
}

// maxCall bounds a request, in bytes.
const maxCall = 4 << 20

// ServeHTTP implements http.Handler: one call of JSON-RPC.
func (t *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c call
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&c); err != nil {
		write(w, map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32700, "message": err.Error()}})
		return
	}
	result, err := t.answer(&c)
	var failure *rpcError
	if errors.As(err, &failure) {
		write(w, map[string]any{"jsonrpc": "2.0", "id": c.ID, "error": map[string]any{"code": failure.code, "message": failure.message}})
		return
	}
	write(w, map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": result})
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // An error means that the client is gone.
}
