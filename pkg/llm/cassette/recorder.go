package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Recorder forwards requests and records the answers. A request without any answer is not recorded.
type Recorder struct {
	doer     llm.Doer
	redactor *redact.Redactor

	mu  sync.Mutex // Guards to and err.
	to  io.Writer
	err error
}

// Record writes doer's answers to a writer. Secrets are removed wherever they occur.
func Record(to io.Writer, doer llm.Doer, secrets ...llm.Secret) *Recorder {
	return &Recorder{to: to, doer: doer, redactor: redactor(secrets)}
}

func redactor(secrets []llm.Secret) *redact.Redactor {
	texts := make([]string, len(secrets))
	for i, secret := range secrets {
		texts[i] = string(secret)
	}
	return redact.New(texts...)
}

// Err returns the first write error. A call never fails because its recording did.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Do forwards one request. It is recorded once the body was read to its end or closed.
func (r *Recorder) Do(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, fmt.Errorf("record request: %w", err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	made := entry(req, body, r.redactor)
	resp, err := r.doer.Do(req)
	if err != nil {
		return resp, err
	}
	resp.Body = &tape{ReadCloser: resp.Body, write: func(read []byte, cut bool) {
		r.write(made.answered(resp, read, cut, r.redactor))
	}}
	return resp, nil
}

func (r *Recorder) write(e Entry) {
	line, err := json.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && r.err == nil {
		_, err = r.to.Write(append(line, '\n'))
	}
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("write cassette: %w", err)
	}
}

// tape is the body of an answer that records what was read from it.
type tape struct {
	io.ReadCloser
	read    bytes.Buffer
	write   func(read []byte, cut bool)
	written bool
}

// Read passes on what the provider sends, and records it.
func (t *tape) Read(to []byte) (int, error) {
	n, err := t.ReadCloser.Read(to)
	t.read.Write(to[:n])
	if err != nil {
		t.finish(!errors.Is(err, io.EOF))
	}
	return n, err
}

// Close ends the answer. A body closed before its end is complete as far as it was read: a stream is closed after its last
// event.
func (t *tape) Close() error {
	t.finish(false)
	return t.ReadCloser.Close()
}

func (t *tape) finish(cut bool) {
	if !t.written {
		t.written = true
		t.write(t.read.Bytes(), cut)
	}
}
