package llmtest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the scripted model: an http.Handler, and with Do a client of itself that needs no network.
type Server struct {
	responder Responder
	// Names are the models listed by /v1/models, "fake" if empty.
	Names []string

	// unrecorded servers keep no questions.
	unrecorded bool

	mu    sync.Mutex // Guards count and asked.
	count int
	asked []Question
}

// New returns a server that answers with a responder and keeps every question, for tests.
func New(r Responder) *Server { return &Server{responder: r} }

// NewUnrecorded returns a server that keeps no question, for models that are served for long: Asked lists none.
func NewUnrecorded(r Responder) *Server { return &Server{responder: r, unrecorded: true} }

// Asked lists the questions so far, in order.
func (s *Server) Asked() []Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// ServeHTTP serves /v1/chat/completions, /v1/responses, /v1/messages, /v1beta/models/NAME:generateContent,
// /v1beta/models/NAME:streamGenerateContent and /v1/models, with or without the version.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for _, version := range []string{"/v1beta", "/v1"} {
		if rest, found := strings.CutPrefix(path, version+"/"); found {
			path = "/" + rest
			break
		}
	}
	endpoint := path
	if strings.HasPrefix(path, "/models/") && strings.HasSuffix(strings.ToLower(path), "generatecontent") {
		endpoint = pathGemini
	}
	switch spoken, known := apis[endpoint]; {
	case path == "/models" && r.Method == http.MethodGet:
		s.list(w)
	case known && r.Method == http.MethodPost:
		s.answer(w, r, spoken, path)
	default:
		reply(w, http.StatusNotFound, usualError(http.StatusNotFound, Answer{Error: "no such endpoint: " + r.Method + " " + r.URL.Path}))
	}
}

func (s *Server) list(w http.ResponseWriter) {
	names := s.Names
	if len(names) == 0 {
		names = []string{"fake"}
	}
	list := []object{}
	for _, name := range names {
		list = append(list, object{"id": name, "object": "model", "created": 0, "owned_by": "jobgraph"})
	}
	reply(w, http.StatusOK, object{"object": "list", "data": list})
}

// maxQuestion limits the size of a request in bytes.
const maxQuestion = 64 << 20

func (s *Server) answer(w http.ResponseWriter, r *http.Request, spoken api, path string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
	if err != nil {
		spoken.fail(w, http.StatusBadRequest, Answer{Error: "read the request: " + err.Error()})
		return
	}
	q, err := spoken.read(path, r.Header, body)
	if err != nil {
		spoken.fail(w, http.StatusBadRequest, Answer{Error: "the request is not the expected JSON: " + err.Error()})
		return
	}
	q.N = s.record(q)
	if q.Wrong != "" {
		spoken.fail(w, http.StatusBadRequest, Answer{Error: q.Wrong})
		return
	}
	a, err := s.responder.Respond(q)
	if err != nil {
		a = Answer{Status: http.StatusInternalServerError, Error: err.Error()}
	}
	if !pause(r, a.Delay) {
		return
	}
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	spoken.send(w, r, q, a)
}

// record counts a question, keeps it if the server does so, and returns its number.
func (s *Server) record(q Question) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if q.N = s.count; !s.unrecorded {
		s.asked = append(s.asked, q)
	}
	return s.count
}

// send writes an answer, or its fault.
func (s api) send(w http.ResponseWriter, r *http.Request, q Question, a Answer) {
	switch {
	case a.Status >= 300 && a.Body == "":
		s.fail(w, a.Status, a)
	case a.Body != "":
		kind := a.Type
		if kind == "" {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(max(a.Status, http.StatusOK))
		_, _ = io.WriteString(w, a.Body) // The caller may be gone.
	case a.Fault == ErrorIn200:
		s.fail(w, http.StatusOK, a)
	case q.Stream:
		s.stream(w, r, q, a)
	default:
		s.whole(w, r, q, a)
	}
}

func (s api) whole(w http.ResponseWriter, r *http.Request, q Question, a Answer) {
	data, err := json.Marshal(s.message(q, a))
	if err != nil {
		s.fail(w, http.StatusInternalServerError, Answer{Error: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch a.Fault {
	case BadJSON:
		data = data[:len(data)/2]
	case CutStream:
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(data[:len(data)/2]) // The caller may be gone.
		flush(w)
		panic(http.ErrAbortHandler)
	case Hang:
		<-r.Context().Done()
		return
	}
	_, _ = w.Write(data) // The caller may be gone.
}

// flush sends what was written so far.
func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// fail sends an error in the form of the API.
func (s api) fail(w http.ResponseWriter, status int, a Answer) {
	reply(w, status, s.refusal(status, a))
}

// usualError returns an error in OpenAI's form.
func usualError(status int, a Answer) object {
	said := object{"message": a.Error, "type": "error", "code": nil, "param": nil}
	if a.Error == "" {
		said["message"] = http.StatusText(status)
	}
	if a.Code != "" {
		said["code"] = a.Code
	}
	if a.Param != "" {
		said["param"] = a.Param
	}
	return object{"error": said}
}

// object is a JSON object.
type object = map[string]any

func reply(w http.ResponseWriter, status int, body object) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // The caller may be gone.
}

// pause waits. It returns false if the caller has gone.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// Do answers a request without a network, even in virtual time; it implements llm.Doer. The handler runs concurrently until
// the answer is read or its body is closed.
func (s *Server) Do(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	w := &wire{request: r, header: http.Header{}, out: out, started: make(chan struct{})}
	// Started here; ends with the answer: a closed body fails its next write, an ended context its next pause.
	go func() {
		defer w.end()
		s.ServeHTTP(w, r)
	}()
	select {
	case <-w.started:
	case <-r.Context().Done():
		_ = in.CloseWithError(r.Context().Err()) // Always returns nil.
		<-w.started
		return nil, r.Context().Err()
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Body: in, ContentLength: -1,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}, nil
}

// wire is the handler's side of an in-process answer.
type wire struct {
	request *http.Request
	header  http.Header
	out     *io.PipeWriter
	once    sync.Once
	status  int
	started chan struct{}
}

// Header returns the header of the answer.
func (w *wire) Header() http.Header { return w.header }

// WriteHeader begins the answer with its status.
func (w *wire) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		w.header = w.header.Clone()
		close(w.started)
	})
}

// Write passes bytes to the reader.
func (w *wire) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(data)
}

// Flush does nothing: nothing is buffered.
func (w *wire) Flush() {}

// end closes the answer: as a broken connection if the handler broke it, with the context's error if the caller is gone.
func (w *wire) end() {
	end := w.request.Context().Err()
	if broken := recover(); broken != nil {
		err, ok := broken.(error)
		if !ok || !errors.Is(err, http.ErrAbortHandler) {
			panic(broken)
		}
		end = io.ErrUnexpectedEOF
	}
	w.WriteHeader(http.StatusOK)
	_ = w.out.CloseWithError(end) // Always returns nil.
}
