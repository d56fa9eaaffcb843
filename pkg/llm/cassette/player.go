package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Player answers requests from a cassette without a network. A repeated request gets the next answer recorded for it; after
// the last one, the last one again.
type Player struct {
	redactor *redact.Redactor

	mu    sync.Mutex // Guards tapes.
	tapes map[string][]Entry
}

// maxLine limits one line of a cassette, in bytes.
const maxLine = 256 << 20

// Play reads a cassette. secrets are those that were removed from the recorded requests.
func Play(from io.Reader, secrets ...llm.Secret) (*Player, error) {
	p := &Player{redactor: redactor(secrets), tapes: map[string][]Entry{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read cassette: line %d: %w", n, err)
		}
		if e.Digest == "" || e.Status == 0 {
			return nil, fmt.Errorf("read cassette: line %d: no digest or no status", n)
		}
		p.tapes[e.Digest] = append(p.tapes[e.Digest], e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read cassette: %w", err)
	}
	return p, nil
}

// Load reads a cassette from a file.
func Load(path string, secrets ...llm.Secret) (*Player, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open cassette: %w", err)
	}
	defer file.Close()
	return Play(file, secrets...)
}

// Do answers one request, or returns an *llm.Error of class NotFound if it was not recorded.
func (p *Player) Do(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, fmt.Errorf("play request: %w", err)
		}
		if err := req.Body.Close(); err != nil {
			return nil, fmt.Errorf("play request: %w", err)
		}
	}
	asked := entry(req, body, p.redactor)
	p.mu.Lock()
	left := p.tapes[asked.Digest]
	if len(left) > 1 {
		p.tapes[asked.Digest] = left[1:]
	}
	p.mu.Unlock()
	if len(left) == 0 {
		return nil, &llm.Error{Class: llm.NotFound, Message: fmt.Sprintf("the cassette holds no answer to request %.12s: record it again", asked.Digest)}
	}
	return left[0].response(req), nil
}

func (e Entry) response(req *http.Request) *http.Response {
	header := http.Header{}
	for name, value := range e.Header {
		header.Set(name, value)
	}
	body := io.Reader(bytes.NewReader(e.body()))
	if e.Cut {
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{
		StatusCode: e.Status, Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

// broken reproduces a connection that broke during recording.
type broken struct{}

// Read returns the error of a broken connection.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
