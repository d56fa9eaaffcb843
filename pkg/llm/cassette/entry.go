package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Entry is one line of a cassette: a request and its answer.
type Entry struct {
	// Digest identifies the request: the SHA-256 of method, path and body, with the body in a form independent of the order
	// of its keys.
	Digest string `json:"digest"`
	// Method, Path and Request are the request, for readers.
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request"`
	// Status, Header and Body are the answer.
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	// Raw replaces Body if the body is not valid text.
	Raw []byte `json:"raw,omitempty"`
	// Cut is true if the body broke off.
	Cut bool `json:"cut,omitempty"`
}

// kept are the headers of an answer that affect how it is handled.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// entry returns a line without the answer. Keys are removed before the digest is computed, so that they do not affect it.
func entry(r *http.Request, body []byte, redactor *redact.Redactor) Entry {
	e := Entry{Method: r.Method, Path: r.URL.Path, Request: canonical([]byte(llm.Mask(string(body), redactor)))}
	h := sha256.New()
	h.Write([]byte(e.Method + " " + endpoint(e.Path) + "\n"))
	h.Write(e.Request)
	e.Digest = hex.EncodeToString(h.Sum(nil))
	return e
}

// endpoint returns the part of a path that is independent of the provider's address.
func endpoint(path string) string {
	for _, version := range []string{"/v1/", "/v1beta/"} {
		if _, after, found := strings.Cut(path, version); found {
			return "/" + after
		}
	}
	return path
}

// canonical returns a JSON value with sorted keys; a body that is not JSON becomes a string.
func canonical(body []byte) json.RawMessage {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		value = string(body)
	}
	made, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return made
}

// answered returns the entry with the answer added.
func (e Entry) answered(resp *http.Response, body []byte, cut bool, redactor *redact.Redactor) Entry {
	e.Status, e.Cut = resp.StatusCode, cut
	for _, name := range kept {
		if value := resp.Header.Get(name); value != "" {
			if e.Header == nil {
				e.Header = map[string]string{}
			}
			e.Header[name] = llm.Mask(value, redactor)
		}
	}
	if utf8.Valid(body) {
		e.Body = llm.Mask(string(body), redactor)
	} else {
		e.Raw = []byte(llm.Mask(string(body), redactor))
	}
	return e
}

func (e Entry) body() []byte {
	if e.Raw != nil {
		return e.Raw
	}
	return []byte(e.Body)
}
