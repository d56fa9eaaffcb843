package a2a

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// FuzzCard checks that any card is accepted, or rejected with a reason.
func FuzzCard(f *testing.F) {
	for _, seed := range []string{
		`{"url":"http://x/","preferredTransport":"JSONRPC","skills":[{"id":"a"}]}`,
		`{"supportedInterfaces":[{"url":"https://x","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`,
		`{"enabled":false,"metadata":{"hidden":true}}`, `[]`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ReadCard(raw)
		if err == nil && (c.endpoint == nil || c.endpoint.Host == "" || c.version == "" || len(c.Digest) != 64) {
			t.Errorf("%+v", c)
		}
		if err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}

// answers is an agent that always gives the same answer.
type answers struct {
	status int
	media  string
	body   []byte
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {a.media}}, Request: r, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// FuzzAnswer checks that any answer of an agent gives updates and at most one error of a known kind, and that the result
// can be recorded.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"data":{}}]}]}}}`,
		`{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t","status":{"state":"working"},"artifacts":[null]}}`,
		`{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"x"}]}}`,
		`{"jsonrpc":"2.0","error":{"code":-32001,"message":"no"}}`,
		"data: {\"result\":{\"statusUpdate\":{\"taskId\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}}\n\ndata: {",
	} {
		for mode := range uint8(12) {
			f.Add([]byte(seed), mode, 200)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, mode uint8, status int) {
		card := `{"url":"http://x/"}`
		switch mode % 3 {
		case 1:
			card = `{"supportedInterfaces":[{"url":"http://x","protocolBinding":"JSONRPC"}]}`
		case 2:
			card = `{"supportedInterfaces":[{"url":"http://x","protocolBinding":"HTTP+JSON"}]}`
		}
		c := musttest.Get(ReadCard([]byte(card)))(t)
		media := "application/json"
		if mode&8 != 0 {
			media = "text/event-stream"
		}
		r := newRemote(c, &dialer{}, 1<<20, nil)
		r.line.next = &answers{status: 100 + max(status, -status)%500, media: media, body: body}
		rec := &record{}
		ended := false
		for u, err := range r.Send(t.Context(), &message{ID: "m", Live: mode&4 != 0, Parts: []part{{Text: "hi"}}}) {
			if ended {
				t.Fatal("it goes on after an error")
			}
			if err != nil {
				ended = true
				var refused *refusal
				var broken *brokenError
				switch {
				case errors.As(err, &refused):
					if refused.Code == "" || refused.Message == "" || !utf8.ValidString(refused.Cause) {
						t.Errorf("%+v", refused)
					}
				case errors.As(err, &broken), errors.Is(err, errUnsent), errors.Is(err, errBudget):
				default:
					t.Errorf("unknown: %v", err)
				}
				continue
			}
			rec.take(u)
		}
		raw, err := rec.keep()
		if err != nil || readRecord(raw) == nil {
			t.Errorf("cannot be kept: %s %v", raw, err)
		}
	})
}
