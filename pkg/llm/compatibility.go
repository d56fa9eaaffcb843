package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// compatibility is the Doer between the SDK and the provider. It adds to requests what the SDK drops, converts answers to
// the form that the SDK reads, and keeps in the exchange what the SDK would lose.
type compatibility struct{ doer Doer }

// Do sends one request of an exchange.
func (c compatibility) Do(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req.Context())
	if err := x.complete(req); err != nil {
		return nil, fmt.Errorf("complete request: %w", err)
	}
	resp, err := x.send(c.doer, req)
	if err != nil {
		return nil, err
	}
	if x.stream {
		return x.streamed(resp)
	}
	return x.whole(resp)
}

// send sends a request. A status that means failure becomes the error of the exchange.
func (x *exchange) send(doer Doer, req *http.Request) (*http.Response, error) {
	x.sent = true
	resp, err := doer.Do(req)
	if err != nil {
		x.failed(x.broken(err, Unavailable))
		return nil, err
	}
	x.touch()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, x.refused(resp)
	}
	return resp, nil
}

// complete adds fields, headers, and empty texts that the SDK leaves out.
func (x *exchange) complete(req *http.Request) error {
	raw, err := readAll(req.Body, maxRequest)
	if err != nil {
		return err
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	if x.dialect == DialectChat {
		if body["messages"], err = withContent(body["messages"]); err != nil {
			return err
		}
	}
	for name, field := range x.set {
		if body[name], err = json.Marshal(field); err != nil {
			return err
		}
	}
	if raw, err = json.Marshal(body); err != nil {
		return err
	}
	req.ContentLength = int64(len(raw))
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	for name, values := range x.header {
		req.Header[name] = values
	}
	return nil
}

// withContent adds an empty content to each message without text and calls, since most providers require one.
func withContent(raw json.RawMessage) (json.RawMessage, error) {
	var messages []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, err
	}
	for _, message := range messages {
		if message["content"] == nil && message["tool_calls"] == nil {
			message["content"] = json.RawMessage(`""`)
		}
	}
	return json.Marshal(messages)
}

// refused reads the error under a failing status, and the time after which to retry.
func (x *exchange) refused(resp *http.Response) error {
	defer resp.Body.Close()
	body, err := readAll(resp.Body, maxError)
	if err != nil && len(body) == 0 {
		body = []byte(http.StatusText(resp.StatusCode))
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte(http.StatusText(resp.StatusCode))
	}
	fail := x.told(resp.StatusCode, body)
	if resp.StatusCode < 400 {
		fail.Class, fail.Message = Malformed, "an answer with this status is none"
	}
	if after := retryAfter(resp.Header, x.now()); after > 0 {
		fail.RetryAfter = after
	}
	fail.RequestID = excerpt(cmp.Or(resp.Header.Get("Request-Id"), resp.Header.Get("X-Request-Id"), fail.RequestID), x.redactor)
	switch strings.ToLower(resp.Header.Get("X-Should-Retry")) {
	case "true":
		fail.retry = 1
	case "false":
		fail.retry = -1
	}
	x.failed(fail)
	return fail
}

// whole reads an answer that is not a stream.
func (x *exchange) whole(resp *http.Response) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := readAll(resp.Body, maxBody)
	if err != nil {
		x.failed(x.broken(err, StreamCut))
		return nil, err
	}
	plain, err := x.plainBody(body)
	if err != nil {
		return nil, err
	}
	return replaced(resp, plain), nil
}

// plainBody converts a complete answer to the SDK's form. An error inside it counts as one, whatever its status.
func (x *exchange) plainBody(body []byte) ([]byte, error) {
	if x.dialect == DialectResponses {
		answer, inside, err := readResponses(body)
		if err = x.judge(body, inside, err, answer.Output != nil || answer.Status != ""); err != nil {
			return nil, err
		}
		x.billed(answer.Usage)
		x.keep(body)
		return json.Marshal(answer)
	}
	answer, inside, err := readChat(body)
	if err = x.judge(body, inside, err, len(answer.Choices) > 0); err != nil {
		return nil, err
	}
	if answer.Usage != nil && answer.Usage.Cost.usd != nil {
		x.cost = answer.Usage.Cost.usd
	}
	return json.Marshal(answer)
}

// judge turns an answer without content into the error of the exchange.
func (x *exchange) judge(body, inside []byte, err error, answered bool) error {
	switch {
	case inside != nil:
		x.failed(x.told(0, inside))
	case err != nil:
		x.failed(x.nonsense("the answer is not the expected JSON", body))
	case !answered && bytes.Contains(body, []byte(`"message"`)):
		x.failed(x.told(0, body))
	case !answered:
		x.failed(x.nonsense("the answer has no choices", body))
	default:
		return nil
	}
	return x.fail
}

func (x *exchange) billed(used *responsesUsage) {
	if used != nil && used.Cost.usd != nil {
		x.cost = used.Cost.usd
	}
}

// keep stores the raw items of an answer: a provider that encrypts reasoning wants them back in order.
func (x *exchange) keep(body []byte) {
	var answer struct {
		Output []json.RawMessage `json:"output"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	x.items = answer.Output
}

// replaced returns a response with another body.
func replaced(resp *http.Response, body []byte) *http.Response {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	return resp
}

// isStream reports whether a body is a stream of events. It decides by how the body begins, not by its content type: what
// begins like JSON or HTML is not a stream.
func isStream(start []byte) bool {
	return len(start) == 0 || !strings.Contains("{[<", string(start[:1]))
}
