package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// streamed gives the SDK a stream it can read: one event per line, in plain form, ended by [DONE]. An answer that came in
// one piece although a stream was asked for becomes a stream of one event.
func (x *exchange) streamed(resp *http.Response) (*http.Response, error) {
	reader := bufio.NewReader(resp.Body)
	start, err := reader.Peek(1)
	for err == nil && strings.Contains("\r\n ", string(start)) {
		if _, err = reader.Discard(1); err == nil {
			start, err = reader.Peek(1)
		}
	}
	// An error shows itself again at the next read.
	if isStream(start) {
		resp.Body = &plainStream{x: x, body: resp.Body, events: newEventReader(reader)}
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := readAll(reader, maxBody)
	if err != nil {
		x.failed(x.broken(err, StreamCut))
		return nil, err
	}
	lines, err := x.lines(body)
	if err != nil {
		return nil, err
	}
	return replaced(resp, append(lines, done...)), nil
}

// done ends every stream.
const done = "data: [DONE]\n\n"

// lines is a whole answer as a stream.
func (x *exchange) lines(body []byte) ([]byte, error) {
	plain, err := x.plainBody(body)
	if err != nil {
		return nil, err
	}
	if x.dialect == DialectChat {
		answer, _, err := readChat(plain)
		if err != nil {
			return nil, err
		}
		return asLine(answer.chunk())
	}
	answer, _, err := readResponses(plain)
	if err != nil {
		return nil, err
	}
	return asLine(answer.asEvent())
}

func asLine(event any) ([]byte, error) {
	data, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("data: "), data...), "\n\n"...), nil
}

// plainStream is the body of a stream while it arrives.
type plainStream struct {
	x      *exchange
	body   io.ReadCloser
	events *eventReader
	// ready is what was read and not yet given; end is what comes after it.
	ready []byte
	end   error
	// total counts bytes, so that a stream that never ends has an end.
	total int
	// kept counts those of the items that are kept.
	kept int
}

// Read gives the next plain events, at least one.
func (p *plainStream) Read(to []byte) (int, error) {
	for len(p.ready) == 0 {
		if p.end != nil {
			return 0, p.end
		}
		p.ready, p.end = p.fetch()
	}
	n := copy(to, p.ready)
	p.ready = p.ready[n:]
	return n, nil
}

// Close ends the connection.
func (p *plainStream) Close() error { return p.body.Close() }

// fetch reads one event of the provider.
func (p *plainStream) fetch() ([]byte, error) {
	name, data, err := p.events.next()
	p.x.touch()
	if errors.Is(err, io.EOF) {
		return []byte(done), io.EOF
	}
	if err != nil {
		p.x.failed(p.x.broken(err, StreamCut))
		return nil, err
	}
	data = bytes.TrimSpace(data)
	if p.total += len(data); p.total > maxStream {
		p.x.failed(&Error{Class: Malformed, Message: "the stream is larger than an answer may be"})
		return nil, p.x.fail
	}
	switch {
	case len(data) == 0:
		return nil, nil
	case string(data) == "[DONE]":
		return []byte(done), io.EOF
	case name == "error":
		p.x.failed(p.x.told(0, data))
		return nil, p.x.fail
	}
	if p.x.dialect == DialectResponses {
		return p.responses(data)
	}
	return p.chat(data)
}

func (p *plainStream) chat(data []byte) ([]byte, error) {
	body, inside, err := readChat(data)
	switch {
	case err != nil:
		p.x.failed(p.x.cutOrNonsense(err, data))
		return nil, p.x.fail
	case inside != nil:
		p.x.failed(p.x.told(0, inside))
		return nil, p.x.fail
	case body.Choices == nil && body.Usage == nil && bytes.Contains(data, []byte(`"object":"error"`)):
		p.x.failed(p.x.told(0, data))
		return nil, p.x.fail
	}
	if body.Usage != nil && body.Usage.Cost.usd != nil {
		p.x.cost = body.Usage.Cost.usd
	}
	return asLine(body.chunk())
}

func (p *plainStream) responses(data []byte) ([]byte, error) {
	event, inside, err := readResponsesEvent(data)
	switch {
	case err != nil:
		p.x.failed(p.x.cutOrNonsense(err, data))
		return nil, p.x.fail
	case inside != nil:
		p.x.failed(p.x.told(0, inside))
		return nil, p.x.fail
	case event.Type == "":
		return nil, nil
	case event.Type == "response.output_item.done":
		if p.kept += len(event.raw); p.kept > maxAnswer {
			p.x.failed(&Error{Class: Malformed, Message: "the items are larger than an answer may be"})
			return nil, p.x.fail
		}
		p.x.items = append(p.x.items, event.raw)
	case event.Type == "response.completed":
		p.x.billed(event.Response.Usage)
		if len(p.x.items) == 0 {
			p.x.keepIn(data)
		}
	}
	return asLine(event)
}

// cutOrNonsense tells an event that ends too early from one that never was JSON.
func (x *exchange) cutOrNonsense(err error, data []byte) *Error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return &Error{Class: StreamCut, Message: "the stream ended within an event"}
	}
	return x.nonsense("an event of the stream is not the expected JSON", data)
}

// keepIn keeps the raw items of the answer inside an event.
func (x *exchange) keepIn(data []byte) {
	var event struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(data, &event) == nil && event.Response != nil {
		x.keep(event.Response)
	}
}
