package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// protocol is a dialect that this package speaks without an SDK.
type protocol interface {
	// request returns the address below base_url and the body of a request.
	request(t *turn) (path string, body map[string]any)
	// authorize sets the headers that carry the key.
	authorize(cfg ModelConfig, header http.Header)
	// decoder returns the reader of one answer.
	decoder(x *exchange, a *answer) decoder
}

// itemForm is the form of the items of a turn in such a dialect.
type itemForm interface {
	// calls returns the provider's ids of the calls in the items of a turn, in order, "" for a call without one. sealed reports
	// whether an item must be returned to the provider unchanged.
	calls(items []json.RawMessage) (ids []string)
	sealed(item json.RawMessage) bool
}

// decoder reads an answer into an answer under construction. It returns the errors of the exchange.
type decoder interface {
	// whole reads an answer in one piece.
	whole(body []byte) error
	// event reads one event of a stream. io.EOF means that nothing follows.
	event(data []byte) error
	// end is called once at the orderly end of an answer.
	end()
}

// protocols are the dialects that need no SDK.
var (
	protocols = map[Dialect]protocol{DialectAnthropic: anthropic{}, DialectGemini: gemini{}}
	itemForms = map[Dialect]itemForm{DialectAnthropic: anthropic{}, DialectGemini: gemini{}}
)

// mostPauses limits how often an answer that the provider interrupts is continued.
const mostPauses = 16

// native sends a request in a dialect without an SDK. If the provider interrupts an answer for long work of its own, native
// continues it: it sends back what has arrived and reads the rest into the same answer.
func (t *turn) native(ctx context.Context, x *exchange, doer Doer, p protocol, a *answer) error {
	for range mostPauses {
		if err := t.post(ctx, x, doer, p, a); err != nil {
			return err
		}
		if a.ended != pausedTurn {
			return nil
		}
		t.paused = x.items
		a.ended, a.over, a.done = "", false, false
	}
	return &Error{Class: Unavailable, Message: "the provider interrupts the answer again and again"}
}

// post makes one request and reads its answer.
func (t *turn) post(ctx context.Context, x *exchange, doer Doer, p protocol, a *answer) error {
	path, body := p.request(t)
	overlay(body, t.cfg.Extra)
	raw, err := json.Marshal(body)
	switch {
	case err != nil:
		return &Error{Class: BadRequest, Message: excerpt(err.Error(), x.redactor), unsent: true}
	case len(raw) > maxRequest:
		return &Error{Class: ContextTooLong, Message: "the request is larger than a request may be", unsent: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.cfg.BaseURL+path, bytes.NewReader(raw))
	if err != nil {
		return &Error{Class: BadRequest, Message: excerpt(err.Error(), x.redactor), unsent: true}
	}
	req.Header.Set("Content-Type", "application/json")
	if x.stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	p.authorize(t.cfg, req.Header)
	for name, values := range x.header {
		req.Header[name] = values
	}
	resp, err := x.send(doer, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return x.read(resp.Body, p.decoder(x, a), a)
}

// read reads an answer, event by event or in one piece: a provider may answer a streaming request in one piece.
func (x *exchange) read(from io.Reader, d decoder, a *answer) error {
	reader := bufio.NewReader(from)
	if !x.stream || !isStream(begin(reader)) {
		body, err := readAll(reader, maxBody)
		if err != nil {
			x.failed(x.broken(err, StreamCut))
			return err
		}
		if err := d.whole(body); err != nil {
			return err
		}
		d.end()
		return nil
	}
	x.events = &plainStream{x: x, events: newEventReader(reader)}
	for {
		data, err := x.events.next()
		if err == nil {
			err = d.event(data)
		}
		if errors.Is(err, io.EOF) {
			a.over, a.done = true, a.done || x.events.done
			d.end()
			return nil
		}
		if err != nil {
			return err
		}
		if fail := a.tooLarge(); fail != nil {
			return fail
		}
	}
}

// begin returns the first byte of a body that is not white space. A read error will occur again at the next read.
func begin(reader *bufio.Reader) []byte {
	start, err := reader.Peek(1)
	for err == nil && strings.Contains("\r\n ", string(start)) {
		if _, err = reader.Discard(1); err == nil {
			start, err = reader.Peek(1)
		}
	}
	return start
}

// overlay sets fields of an object. Objects inside it are merged; everything else is replaced.
func overlay(object, fields map[string]any) {
	for name, field := range fields {
		inner, merges := field.(map[string]any)
		if within, both := object[name].(map[string]any); merges && both {
			overlay(within, inner)
			continue
		}
		object[name] = field
	}
}

// objectOf returns the arguments of a call as an object. If a model wrote something else, the object contains its text.
func objectOf(args string) json.RawMessage {
	args = strings.TrimSpace(args)
	switch {
	case args == "":
		return json.RawMessage(`{}`)
	case json.Valid([]byte(args)) && args[0] == '{':
		return json.RawMessage(args)
	}
	raw, err := json.Marshal(map[string]string{"unreadable": args})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}
