package llm

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// pausedTurn is the stop reason of an answer that the provider interrupts for long work of its own.
const pausedTurn = "pause_turn"

// The kinds of blocks that are read.
const (
	blockText     = "text"
	blockCall     = "tool_use"
	blockThinking = "thinking"
)

// anthropicMessage is an answer of the Messages API.
type anthropicMessage struct {
	Type       word              `json:"type"`
	ID         word              `json:"id"`
	Model      word              `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason word              `json:"stop_reason"`
	Details    anthropicDetails  `json:"stop_details"`
	Usage      *anthropicUsage   `json:"usage"`
	Error      json.RawMessage   `json:"error"`
}

type anthropicDetails struct {
	Explanation word `json:"explanation"`
}

// anthropicUsage counts tokens. Input counts those that are neither read from the cache nor written to it.
type anthropicUsage struct {
	Input   *count `json:"input_tokens"`
	Read    *count `json:"cache_read_input_tokens"`
	Written *count `json:"cache_creation_input_tokens"`
	Output  *count `json:"output_tokens"`
	Details *struct {
		Thinking count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Cost money `json:"cost"`
}

// anthropicBlock is a block of a message.
type anthropicBlock struct {
	Type      word            `json:"type"`
	ID        word            `json:"id"`
	Name      word            `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Input     json.RawMessage `json:"input"`
}

// anthropicEvent is an event of a stream.
type anthropicEvent struct {
	Type    word              `json:"type"`
	Index   int               `json:"index"`
	Delta   anthropicDelta    `json:"delta"`
	Message *anthropicMessage `json:"message"`
	Block   json.RawMessage   `json:"content_block"`
	Usage   *anthropicUsage   `json:"usage"`
	Error   json.RawMessage   `json:"error"`
}

type anthropicDelta struct {
	Type       string           `json:"type"`
	Text       string           `json:"text"`
	Thinking   string           `json:"thinking"`
	Signature  string           `json:"signature"`
	Input      string           `json:"partial_json"`
	StopReason word             `json:"stop_reason"`
	Details    anthropicDetails `json:"stop_details"`
}

// anthropicDecoder reads an answer of the Messages API.
type anthropicDecoder struct {
	x *exchange
	a *answer
	// before is what earlier parts of an interrupted answer used; usage is what this part has used so far.
	before Usage
	usage  anthropicUsage
	blocks []*anthropicBuilding
	at     map[int]*anthropicBuilding
	// latest is the event that was read last.
	latest anthropicEvent
}

// anthropicBuilding is a block under construction. text, thinking and input hold what its deltas have added.
type anthropicBuilding struct {
	raw                   json.RawMessage
	block                 anthropicBlock
	text, thinking, input strings.Builder
	signature             string
	call                  int
}

func (anthropic) decoder(x *exchange, a *answer) decoder {
	return &anthropicDecoder{x: x, a: a, before: a.used, at: map[int]*anthropicBuilding{}}
}

// whole reads a message in one piece.
func (d *anthropicDecoder) whole(body []byte) error {
	var m anthropicMessage
	err := json.Unmarshal(body, &m)
	if err := d.x.judge(body, present(m.Error), err, m.Type == "message" || m.Content != nil || m.StopReason != ""); err != nil {
		return err
	}
	if m.Content == nil && m.StopReason == "" {
		return d.fail(d.x.nonsense("the answer has no content", body))
	}
	d.head(&m)
	for i, raw := range m.Content {
		if err := d.start(i, raw); err != nil {
			return err
		}
	}
	d.stop(cmp.Or(string(m.StopReason), string(FinishStop)), m.Details) // The whole body has arrived.
	return nil
}

// event reads an event of a stream.
func (d *anthropicDecoder) event(data []byte) error {
	d.latest = anthropicEvent{}
	e := &d.latest
	if !scanDelta(data, e) {
		*e = anthropicEvent{}
		if err := json.Unmarshal(data, e); err != nil {
			return d.x.events.fail(d.x.cutOrNonsense(err, data))
		}
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			d.head(e.Message)
		}
	case "content_block_start":
		return d.start(e.Index, e.Block)
	case "content_block_delta":
		d.delta(e.Index, &e.Delta)
	case "message_delta":
		d.used(e.Usage)
		if e.Delta.StopReason != "" {
			d.stop(string(e.Delta.StopReason), e.Delta.Details)
		}
	case "message_stop":
		d.a.done = true
		return io.EOF
	case "error":
		return d.x.events.fail(d.x.told(0, data))
	default:
		if present(e.Error) != nil {
			return d.x.events.fail(d.x.told(0, data))
		}
	}
	return nil
}

func (d *anthropicDecoder) head(m *anthropicMessage) {
	d.a.id, d.a.model = cmp.Or(string(m.ID), d.a.id), cmp.Or(string(m.Model), d.a.model)
	d.used(m.Usage)
}

// used records the counts of an event, which may repeat earlier counts or have new ones.
func (d *anthropicDecoder) used(u *anthropicUsage) {
	if u == nil {
		return
	}
	for _, c := range []struct{ to, from **count }{
		{&d.usage.Input, &u.Input}, {&d.usage.Read, &u.Read}, {&d.usage.Written, &u.Written}, {&d.usage.Output, &u.Output},
	} {
		if *c.from != nil {
			*c.to = *c.from
		}
	}
	if u.Details != nil {
		d.usage.Details = u.Details
	}
	if u.Cost.usd != nil {
		d.x.cost = u.Cost.usd
	}
	read, written := int(value(d.usage.Read, 0)), int(value(d.usage.Written, 0))
	now := Usage{Prompt: int(value(d.usage.Input, 0)) + read + written, Cached: read, Written: written, Completion: int(value(d.usage.Output, 0))}
	if d.usage.Details != nil {
		now.Reasoning = int(d.usage.Details.Thinking)
	}
	d.a.used = d.before.plus(now)
}

// start begins a block with its initial contents.
func (d *anthropicDecoder) start(index int, raw json.RawMessage) error {
	b := &anthropicBuilding{raw: slices.Clone(raw)}
	if err := json.Unmarshal(raw, &b.block); err != nil {
		return d.fail(d.x.nonsense("a block of the answer is not the expected JSON", raw))
	}
	d.blocks, d.at[index] = append(d.blocks, b), b
	d.a.size += len(raw)
	switch b.block.Type {
	case blockText:
		d.a.say(b.block.Text)
	case blockThinking:
		d.a.muse(b.block.Thinking)
	case blockCall:
		b.call = len(d.a.calls.calls)
		d.a.call(callPiece{&b.call, string(b.block.ID), string(b.block.Name), ""})
	}
	return nil
}

func (d *anthropicDecoder) fail(e *Error) error {
	d.x.failed(e)
	return d.x.fail
}

// delta continues a block. A delta without a block comes from a provider that leaves out the beginning.
func (d *anthropicDecoder) delta(index int, delta *anthropicDelta) {
	b := d.at[index]
	if b == nil {
		b = &anthropicBuilding{block: anthropicBlock{Type: blockText}, raw: json.RawMessage(`{"type":"text"}`)}
		d.blocks, d.at[index] = append(d.blocks, b), b
	}
	switch delta.Type {
	case "text_delta":
		b.text.WriteString(delta.Text)
		d.a.say(delta.Text)
	case "thinking_delta":
		b.thinking.WriteString(delta.Thinking)
		d.a.muse(delta.Thinking)
	case "signature_delta":
		b.signature += delta.Signature
		d.a.size += len(delta.Signature)
	case "input_json_delta":
		b.input.WriteString(delta.Input)
		if b.block.Type == blockCall {
			d.a.call(callPiece{index: &b.call, args: delta.Input})
		} else {
			d.a.size += len(delta.Input)
		}
	}
}

// stop records why the answer ended, with the explanation of a refusal.
func (d *anthropicDecoder) stop(reason string, details anthropicDetails) {
	d.a.ended = reason
	d.a.reason = cmp.Or(string(details.Explanation), d.a.reason)
}

// end completes calls whose arguments came at the beginning of their block, and keeps the blocks for the next request.
func (d *anthropicDecoder) end() {
	for _, b := range d.blocks {
		if whole := strings.TrimSpace(string(b.block.Input)); b.block.Type == blockCall && b.input.Len() == 0 && whole != "" && whole != "null" && whole != "{}" {
			d.a.call(callPiece{index: &b.call, args: whole})
			b.input.WriteString(whole)
		}
		if item := b.item(); item != nil {
			d.x.items = append(d.x.items, item)
		}
	}
}

// item returns a block for the next request: texts and calls from their known fields, everything else unchanged. Empty texts are
// left out.
func (b *anthropicBuilding) item() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.raw, &fields) != nil || fields == nil {
		return nil
	}
	set := func(name string, field any) {
		if raw, err := json.Marshal(field); err == nil {
			fields[name] = raw
		}
	}
	switch b.block.Type {
	case blockText:
		text := b.block.Text + b.text.String()
		if blank(text) {
			return nil
		}
		fields = map[string]json.RawMessage{"type": fields["type"]}
		set("text", text)
	case blockCall:
		fields = map[string]json.RawMessage{"type": fields["type"], "id": fields["id"], "name": fields["name"]}
		set("input", objectOf(b.input.String()))
	default:
		if b.block.Type == blockThinking {
			set("thinking", b.block.Thinking+b.thinking.String())
		}
		if signed := b.block.Signature + b.signature; signed != "" {
			set("signature", signed)
		}
		if b.input.Len() > 0 {
			set("input", objectOf(b.input.String()))
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return raw
}
