package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// geminiBody is an answer of generateContent or a chunk of one.
type geminiBody struct {
	Candidates []geminiCandidate `json:"candidates"`
	Feedback   *struct {
		Reason  word `json:"blockReason"`
		Message word `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *geminiUsage    `json:"usageMetadata"`
	Model word            `json:"modelVersion"`
	ID    word            `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

type geminiCandidate struct {
	Index   int            `json:"index"`
	Content *geminiContent `json:"content"`
	Reason  word           `json:"finishReason"`
	Message word           `json:"finishMessage"`
}

type geminiContent struct {
	Parts []geminiPart `json:"parts"`
}

// geminiPart is a part of a content: a text, a thought or a call. Everything else is only kept for the next request.
type geminiPart struct {
	Text      *string     `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Call      *geminiCall `json:"functionCall"`
}

type geminiCall struct {
	ID   word            `json:"id"`
	Name word            `json:"name"`
	Args json.RawMessage `json:"args"`
}

// geminiUsage counts tokens. Prompt includes Cached; Answer excludes Thoughts.
type geminiUsage struct {
	Prompt   count `json:"promptTokenCount"`
	Cached   count `json:"cachedContentTokenCount"`
	Tools    count `json:"toolUsePromptTokenCount"`
	Answer   count `json:"candidatesTokenCount"`
	Thoughts count `json:"thoughtsTokenCount"`
}

func (u *geminiUsage) used() Usage {
	return Usage{
		Prompt: int(u.Prompt + u.Tools), Cached: int(u.Cached), Completion: int(u.Answer + u.Thoughts), Reasoning: int(u.Thoughts),
	}
}

// geminiDecoder reads an answer of generateContent.
type geminiDecoder struct {
	x *exchange
	a *answer
	// plain is the text since the last part that is returned separately.
	plain bytes.Buffer
}

func (gemini) decoder(x *exchange, a *answer) decoder { return &geminiDecoder{x: x, a: a} }

// whole reads an answer in one piece.
func (d *geminiDecoder) whole(body []byte) error {
	if list := bytes.TrimSpace(body); len(list) > 0 && list[0] == '[' { // The body is a stream that was requested without alt=sse.
		var chunks []json.RawMessage
		if json.Unmarshal(body, &chunks) == nil {
			for _, chunk := range chunks {
				if err := d.chunk(chunk); err != nil {
					return err
				}
			}
			d.a.over = true
			return nil
		}
	}
	if err := d.chunk(body); err != nil {
		return err
	}
	d.a.ended = cmp.Or(d.a.ended, string(FinishStop)) // The whole body has arrived.
	return nil
}

// chunk reads a body that has to be an answer.
func (d *geminiDecoder) chunk(data []byte) error {
	var b geminiBody
	err := json.Unmarshal(data, &b)
	if err := d.x.judge(data, present(b.Error), err, len(b.Candidates) > 0 || b.Feedback != nil || b.Usage != nil); err != nil {
		return err
	}
	return d.take(&b, data)
}

// event reads a chunk of a stream.
func (d *geminiDecoder) event(data []byte) error {
	b, quick := scanGemini(data)
	if !quick {
		b = geminiBody{}
		if err := json.Unmarshal(data, &b); err != nil {
			return d.x.events.fail(d.x.cutOrNonsense(err, data))
		}
	}
	if present(b.Error) != nil {
		return d.x.events.fail(d.x.told(0, data))
	}
	return d.take(&b, data)
}

func (d *geminiDecoder) take(b *geminiBody, data []byte) error {
	d.a.id, d.a.model = cmp.Or(d.a.id, string(b.ID)), cmp.Or(d.a.model, string(b.Model))
	if b.Usage != nil && b.Usage.used().Total() > 0 {
		d.a.used = b.Usage.used()
		d.a.summed = len(b.Candidates) == 0
	}
	if b.Feedback != nil && b.Feedback.Reason != "" {
		return d.fail(d.a.bad(Filtered, excerpt("the prompt is blocked: "+string(b.Feedback.Reason)+" "+string(b.Feedback.Message), d.x.redactor)))
	}
	for i := range b.Candidates {
		c := &b.Candidates[i]
		if c.Index != 0 {
			continue
		}
		if c.Content != nil && len(c.Content.Parts) > 0 {
			d.a.summed = false
			d.parts(c.Content.Parts, data, i)
		}
		if c.Reason != "" && c.Reason != "FINISH_REASON_UNSPECIFIED" {
			d.a.ended, d.a.reason = string(c.Reason), cmp.Or(string(c.Message), d.a.reason)
		}
	}
	return nil
}

func (d *geminiDecoder) fail(e *Error) error {
	d.x.failed(e)
	return d.x.fail
}

// parts reads the parts of a candidate. Plain texts are joined; everything else is kept unchanged.
func (d *geminiDecoder) parts(parts []geminiPart, data []byte, candidate int) {
	var raws []json.RawMessage
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Call != nil:
			args := string(p.Call.Args)
			if args == "null" {
				args = ""
			}
			n := len(d.a.calls.calls)
			d.a.call(callPiece{&n, string(p.Call.ID), string(p.Call.Name), args})
		case p.Text != nil && p.Thought:
			d.a.muse(*p.Text)
		case p.Text != nil:
			d.a.say(*p.Text)
		}
		switch {
		case p.Text == nil || p.Signature != "" || p.Call != nil:
			if raws == nil {
				raws = rawGeminiParts(data, candidate)
			}
			if i < len(raws) {
				d.settle()
				d.a.size += len(p.Signature)
				d.x.items = append(d.x.items, slices.Clone(raws[i]))
			}
		case !p.Thought:
			d.plain.WriteString(*p.Text)
		}
	}
}

// rawGeminiParts returns the parts of a candidate unchanged.
func rawGeminiParts(data []byte, candidate int) []json.RawMessage {
	var b struct {
		Candidates []struct {
			Content struct {
				Parts []json.RawMessage `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if json.Unmarshal(data, &b) != nil || candidate >= len(b.Candidates) {
		return nil
	}
	return b.Candidates[candidate].Content.Parts
}

// settle turns the text so far into a part.
func (d *geminiDecoder) settle() {
	if d.plain.Len() == 0 {
		return
	}
	if raw, err := json.Marshal(object{"text": d.plain.String()}); err == nil {
		d.x.items = append(d.x.items, raw)
	}
	d.plain.Reset()
}

// end keeps the last text for the next request.
func (d *geminiDecoder) end() { d.settle() }
