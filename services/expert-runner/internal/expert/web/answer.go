package web

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// kept is an answer in the journal. A person who declares an unknown call done supplies the output itself, in another form.
type kept struct {
	HTTP *answer `json:"http"`
}

// answer is an HTTP response. One of JSON, Text and Bytes is set, or none if there was no body.
type answer struct {
	Status     int             `json:"status"`
	Type       string          `json:"media_type,omitempty"`
	RetryAfter events.Duration `json:"retry_after,omitempty"`
	Over       bool            `json:"over,omitempty"` // Over is true if the body exceeded the limit and was dropped.
	JSON       json.RawMessage `json:"json,omitempty"`
	Text       string          `json:"text,omitempty"`
	Bytes      []byte          `json:"bytes,omitempty"`
}

func newAnswer(r *http.Response, body []byte, limit int64) *answer {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	a := &answer{Status: r.StatusCode, Type: media, RetryAfter: events.Duration(expert.RetryAfter(r.Header.Get("Retry-After"), time.Now()))}
	isJSON := media == "" || media == "application/json" || strings.HasSuffix(media, "+json") || bytes.IndexAny(body, "{[") == 0
	switch {
	case int64(len(body)) > limit:
		a.Over = true
	case len(body) == 0:
	case isJSON && json.Valid(body):
		a.JSON = body
	case utf8.Valid(body):
		a.Text = string(body)
	default:
		a.Bytes = body
	}
	return a
}

// words returns the beginning of the body as text.
func (a *answer) words() string {
	const most = 2 << 10
	text := a.Text
	if a.JSON != nil {
		text = string(a.JSON)
	}
	return clip.Marked(text, most)
}
