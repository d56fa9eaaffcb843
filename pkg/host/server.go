package host

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// serverStop limits how long open requests may delay the end of a Server.
const serverStop = 2 * time.Second

// Server is the HTTP endpoint of a process for operators: /healthz, /readyz, /metrics, /version.
type Server struct {
	listener net.Listener
	server   *http.Server
	mux      *http.ServeMux
	secure   bool
}

// Listen binds the address at once (see Acquire), so that Addr is known and a conflict is an error here; no request is answered before
// Run. If Run is never called, call Close.
func Listen(addr string, health *Health, metrics *Metrics, build Build) (*Server, error) {
	var listener net.Listener
	err := Acquire(func() (err error) {
		listener, err = net.Listen("tcp", addr)
		return err
	})
	if err != nil {
		return nil, Faults{{
			Code: events.CodeInvalid, Field: "http-addr", Message: fmt.Sprintf("cannot listen on %s", addr), Cause: err.Error(),
			Hint: "give a free address, port 0 for any free one, or off",
		}}
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", getOnly(http.HandlerFunc(alive)))
	mux.Handle("/readyz", getOnly(ready(health)))
	mux.Handle("/metrics", getOnly(metrics.Handler()))
	mux.Handle("/version", getOnly(version(build)))
	mux.HandleFunc("/", unknown(health))
	return &Server{listener: listener, mux: mux, server: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
	}}, nil
}

// Secure serves TLS alone. It is called before Run; a TLS without certificates changes nothing. Failed handshakes are logged at the
// level debug. Errors: Faults for the files.
func (s *Server) Secure(t TLS, log *slog.Logger) error {
	if !t.On() {
		return nil
	}
	c, err := openTLS(t)
	if err != nil {
		return err
	}
	s.server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: c.current, NextProtos: []string{"h2", "http/1.1"}}
	s.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	s.secure = true
	return nil
}

// URL returns the address with its scheme.
func (s *Server) URL() string {
	if s.secure {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Addr returns the address with the actual port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Handle adds a route besides the built-in ones, at any time; an existing pattern panics, as in net/http.
func (s *Server) Handle(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// Close releases the address of a server that was not run.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until the context ends, then waits up to two seconds for open requests. It returns nil after an orderly end.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { // Ends with Shutdown or Close below, and is waited for.
		if s.secure {
			served <- s.server.ServeTLS(s.listener, "", "")
			return
		}
		served <- s.server.Serve(s.listener)
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverStop)
	defer cancel()
	err := s.server.Shutdown(bound)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if ended := <-served; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("stop http: %w", err)
	}
	return nil
}

func getOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			writeJSON(w, http.StatusMethodNotAllowed, Fault{
				Code: events.CodeInvalid, Field: "method", Message: r.Method + " is not allowed here", Hint: "use GET",
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unknown answers requests for which no service has a route. Until the process is ready, a service may still add one,
// so clients are told to try again.
func unknown(health *Health) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if reasons := health.Reasons(r.Context()); len(reasons) > 0 {
			w.Header().Set("Retry-After", "1")
			writeJSON(w, http.StatusServiceUnavailable, Fault{
				Code: events.CodeUnavailable, Field: "path", Message: "nothing is served at this path yet",
				Cause: reasons[0].Name + ": " + reasons[0].Reason, Hint: "try again; /readyz says when the process is ready",
			})
			return
		}
		writeJSON(w, http.StatusNotFound, Fault{
			Code: events.CodeNotFound, Field: "path", Message: "nothing is served at this path",
			Hint: "try /healthz, /readyz, /metrics or /version",
		})
	}
}

func alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "alive"})
}

// readiness is the body of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []Reason `json:"reasons"`
	Notes   []Reason `json:"notes,omitempty"`
}

func ready(health *Health) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		reasons := health.Reasons(r.Context())
		status := http.StatusOK
		if len(reasons) > 0 {
			status = http.StatusServiceUnavailable
		}
		if reasons == nil {
			reasons = []Reason{}
		}
		writeJSON(w, status, readiness{Ready: len(reasons) == 0, Reasons: reasons, Notes: health.Notes()})
	}
}

func version(build Build) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, build) }
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // The client is gone if this fails.
}
