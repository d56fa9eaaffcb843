package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// streamed reads an answer event by event, bypassing the SDK, which would decode each of them again. A complete answer to a
// streaming request becomes a stream of one event.
func (x *exchange) streamed(resp *http.Response) (*http.Response, error) {
	reader := bufio.NewReader(resp.Body)
	if isStream(begin(reader)) {
		x.events = &plainStream{x: x, events: newEventReader(reader)}
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
	x.events = &plainStream{x: x, events: newEventReader(bytes.NewReader(append(lines, done...)))}
	return replaced(resp, nil), nil
}

// done is the end of every stream.
const done = "data: [DONE]\n\n"

// lines converts a complete answer to a stream.
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

// plainStream reads the events of an answer as they arrive.
type plainStream struct {
	x      *exchange
	events *eventReader
	// total counts bytes, so that an endless stream is ended.
	total int
	// kept counts the bytes of stored items.
	kept int
	// done is set when the provider has said that nothing follows.
	done bool
}

// next returns the data of the next event with data, io.EOF after the last, or the error of the exchange.
func (p *plainStream) next() ([]byte, error) {
	for {
		name, data, err := p.events.next()
		p.x.touch()
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			p.x.failed(p.x.broken(err, StreamCut))
			return nil, err
		}
		data = bytes.TrimSpace(data)
		if p.total += len(data); p.total > maxStream {
			return nil, p.fail(&Error{Class: Malformed, Message: "the stream is larger than an answer may be"})
		}
		switch {
		case len(data) == 0:
		case string(data) == "[DONE]":
			p.done = true
			return nil, io.EOF
		case name == "error":
			return nil, p.fail(p.x.told(0, data))
		default:
			return data, nil
		}
	}
}

// fail ends the exchange with its first error.
func (p *plainStream) fail(e *Error) error {
	p.x.failed(e)
	return p.x.fail
}

// chunk returns the next chunk of a completion.
func (p *plainStream) chunk() (*chatBody, error) {
	data, err := p.next()
	if err != nil {
		return nil, err
	}
	body, inside, err := readChat(data)
	switch {
	case err != nil:
		return nil, p.fail(p.x.cutOrNonsense(err, data))
	case inside != nil:
		return nil, p.fail(p.x.told(0, inside))
	case body.Choices == nil && body.Usage == nil && bytes.Contains(data, []byte(`"object":"error"`)):
		return nil, p.fail(p.x.told(0, data))
	}
	if body.Usage != nil && body.Usage.Cost.usd != nil {
		p.x.cost = body.Usage.Cost.usd
	}
	body = body.chunk()
	return &body, nil
}

// event returns the next event of the Responses API with content.
func (p *plainStream) event() (*responsesEvent, error) {
	for {
		data, err := p.next()
		if err != nil {
			return nil, err
		}
		event, inside, err := readResponsesEvent(data)
		switch {
		case err != nil:
			return nil, p.fail(p.x.cutOrNonsense(err, data))
		case inside != nil:
			return nil, p.fail(p.x.told(0, inside))
		case event.Type == "":
			continue
		case event.Type == "response.output_item.done":
			if p.kept += len(event.raw); p.kept > maxAnswer {
				return nil, p.fail(&Error{Class: Malformed, Message: "the items are larger than an answer may be"})
			}
			p.x.items = append(p.x.items, event.raw)
		case event.Type == "response.completed":
			p.x.billed(event.Response.Usage)
			if len(p.x.items) == 0 {
				p.x.keepIn(data)
			}
		}
		return &event, nil
	}
}

// cutOrNonsense distinguishes an event that ends too early from one that never was JSON.
func (x *exchange) cutOrNonsense(err error, data []byte) *Error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input" {
		return &Error{Class: StreamCut, Message: "the stream ended within an event"}
	}
	return x.nonsense("an event of the stream is not the expected JSON", data)
}

// keepIn stores the raw items of the answer inside an event.
func (x *exchange) keepIn(data []byte) {
	var event struct {
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(data, &event) == nil && event.Response != nil {
		x.keep(event.Response)
	}
}
