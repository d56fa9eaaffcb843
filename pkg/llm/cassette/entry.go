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

// Entry is one line of a cassette: a request and what came back.
type Entry struct {
	// Digest identifies the request: the SHA-256 of method, path and body, the body in a form that does not depend on the
	// order of its keys.
	Digest string `json:"digest"`
	// Method, Path and Request are what was sent, for people.
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Request json.RawMessage `json:"request"`
	// Status, Header and Body are what came back.
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	// Raw is the body instead, when it is no valid text.
	Raw []byte `json:"raw,omitempty"`
	// Cut says that the body broke off.
	Cut bool `json:"cut,omitempty"`
}

// kept are the headers of an answer that change what is made of it.
var kept = []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// entry is a line without its answer. Keys are taken out before the digest is made, so that they do not decide it.
func entry(r *http.Request, body []byte, redactor *redact.Redactor) Entry {
	e := Entry{Method: r.Method, Path: r.URL.Path, Request: canonical([]byte(llm.Mask(string(body), redactor)))}
	h := sha256.New()
	h.Write([]byte(e.Method + " " + endpoint(e.Path) + "\n"))
	h.Write(e.Request)
	e.Digest = hex.EncodeToString(h.Sum(nil))
	return e
}

// endpoint is the part of a path that does not depend on where the provider is.
func endpoint(path string) string {
	if _, after, found := strings.Cut(path, "/v1/"); found {
		return "/" + after
	}
	return path
}

// canonical is a JSON value with its keys in order; what is no JSON becomes a string.
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

// answered adds what came back.
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
