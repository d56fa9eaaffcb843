package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropicMessage returns a whole answer of the Messages API.
func anthropicMessage(q Question, a Answer) object {
	switch a.Fault {
	case EmptyChoices:
		return object{"id": fmt.Sprintf("msg_%d", q.N), "type": "message", "usage": anthropicUsage(a.used(q))}
	case ErrorInChunk:
		return anthropicError(http.StatusOK, a)
	}
	reason, details := anthropicStop(a)
	return object{
		"id": fmt.Sprintf("msg_%d", q.N), "type": "message", "role": "assistant", "model": q.Model, "content": anthropicBlocks(q, a),
		"stop_reason": reason, "stop_sequence": nil, "stop_details": details, "usage": anthropicUsage(a.used(q)),
	}
}

// anthropicStop returns why the answer ends, with the explanation of a refusal.
func anthropicStop(a Answer) (reason string, details any) {
	if a.Refusal != "" {
		return "refusal", object{"type": "refusal", "category": "other", "explanation": a.Refusal}
	}
	reason = a.finish()
	names := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
	return cmp.Or(names[reason], reason), nil
}

// anthropicBlocks returns the contents of an answer. Thinking is signed, so that a test can see it returned.
func anthropicBlocks(q Question, a Answer) []object {
	blocks := []object{}
	if a.Reasoning != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": a.Reasoning, "signature": seal(q)})
	}
	if a.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.Text})
	}
	for i, call := range a.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": callID(q, i, call), "name": call.Name, "input": argsOf(call)})
	}
	return blocks
}

// seal returns the signature of the thoughts in an answer.
func seal(q Question) string { return fmt.Sprintf("sealed-%d", q.N) }

// argsOf returns the arguments of a call as an object; anything else is sent unchanged as far as JSON allows.
func argsOf(call Call) json.RawMessage {
	if json.Valid([]byte(call.Args)) {
		return json.RawMessage(call.Args)
	}
	return json.RawMessage(`{}`)
}

func anthropicUsage(u Usage) object {
	usage := object{
		"input_tokens": u.Prompt - u.Cached - u.Written, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.Written,
		"output_tokens": u.Completion,
	}
	if u.Reasoning > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": u.Reasoning}
	}
	if u.CostUSD != nil {
		usage["cost"] = *u.CostUSD
	}
	return usage
}

// anthropicEvents returns the events of a streamed answer, and separately those that end it.
func anthropicEvents(q Question, a Answer) (body, end []object) {
	first := anthropicUsage(a.used(q))
	first["output_tokens"] = 1
	body = append(body, object{"type": "message_start", "message": object{
		"id": fmt.Sprintf("msg_%d", q.N), "type": "message", "role": "assistant", "model": q.Model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": first,
	}}, object{"type": "ping"})
	index := 0
	block := func(start object, deltas ...object) {
		body = append(body, object{"type": "content_block_start", "index": index, "content_block": start})
		for _, delta := range deltas {
			body = append(body, object{"type": "content_block_delta", "index": index, "delta": delta})
		}
		body = append(body, object{"type": "content_block_stop", "index": index})
		index++
	}
	if a.Reasoning != "" {
		deltas := pieces(a, a.Reasoning, "thinking_delta", "thinking")
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": seal(q)})...)
	}
	if a.Text != "" {
		block(object{"type": "text", "text": ""}, pieces(a, a.Text, "text_delta", "text")...)
	}
	for i, call := range a.Calls {
		empty := object{"type": "input_json_delta", "partial_json": ""}
		deltas := append([]object{empty}, pieces(a, call.Args, "input_json_delta", "partial_json")...)
		block(object{"type": "tool_use", "id": callID(q, i, call), "name": call.Name, "input": object{}}, deltas...)
	}
	switch a.Fault {
	case ErrorInChunk:
		return body, []object{anthropicError(http.StatusOK, a)}
	case EmptyChoices:
		body = body[:2]
	}
	reason, details := anthropicStop(a)
	used := a.used(q)
	return body, []object{
		{
			"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil, "stop_details": details},
			"usage": anthropicUsage(used),
		},
		{"type": "message_stop"},
	}
}

// pieces cuts a text into deltas of a kind.
func pieces(a Answer, text, kind, field string) (deltas []object) {
	for _, piece := range a.pieces(text) {
		deltas = append(deltas, object{"type": kind, field: piece})
	}
	return deltas
}

// anthropicError returns the body of an error.
func anthropicError(status int, a Answer) object {
	kinds := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}
	kind := cmp.Or(a.Code, kinds[status], "api_error")
	if a.Code == "" && status > 400 && status < 500 && kinds[status] == "" {
		kind = kinds[400]
	}
	return object{"type": "error", "error": object{"type": kind, "message": cmp.Or(a.Error, http.StatusText(max(status, 500)), "Overloaded")}, "request_id": "req_scripted"}
}

// anthropicAsked is a request to the Messages API.
type anthropicAsked struct {
	Model     string          `json:"model"`
	MaxTokens int             `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Choice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
	Output struct {
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Answers   string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Signature string          `json:"signature"`
}

// readAnthropic parses a request to the Messages API and notes what Anthropic would reject.
func readAnthropic(_ string, header http.Header, body []byte) (Question, error) {
	var asked anthropicAsked
	if err := json.Unmarshal(body, &asked); err != nil {
		return Question{}, err
	}
	q := Question{
		Path: pathAnthropic, Model: asked.Model, Stream: asked.Stream, Header: header.Clone(), Body: append(json.RawMessage{}, body...),
		Tools: map[string]json.RawMessage{}, ToolChoice: asked.Choice.Type,
	}
	for _, tool := range asked.Tools {
		q.Tools[tool.Name] = tool.Schema
	}
	switch asked.Choice.Type {
	case "any":
		q.ToolChoice = "required"
	case "tool":
		q.ToolChoice = asked.Choice.Name
	}
	if form := asked.Output.Format; form != nil {
		q.Form, q.Schema = form.Type, form.Schema
	}
	if system := text(asked.System); system != "" {
		q.Turns = append(q.Turns, Turn{Role: "system", Text: system})
	}
	rules := anthropicRules{asked: &asked, header: header}
	for _, m := range asked.Messages {
		blocks := anthropicContent(m.Content)
		rules.message(m.Role, blocks)
		q.Turns = append(q.Turns, anthropicTurns(m.Role, blocks)...)
	}
	q.Wrong = rules.end()
	return q, nil
}

// anthropicContent parses a content: a text, or a list of blocks.
func anthropicContent(raw json.RawMessage) (blocks []anthropicBlock) {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return []anthropicBlock{{Type: "text", Text: plain}}
	}
	_ = json.Unmarshal(raw, &blocks) // Unreadable content has no blocks.
	return blocks
}

// anthropicTurns converts a message to turns, one for each result of a tool.
func anthropicTurns(role string, blocks []anthropicBlock) (turns []Turn) {
	said := Turn{Role: role}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			said.Text += b.Text
		case "tool_use":
			said.Calls = append(said.Calls, b.Name)
		case "tool_result":
			turns = append(turns, Turn{Role: "tool", CallID: b.Answers, Text: text(b.Content)})
		}
	}
	if said.Text != "" || len(said.Calls) > 0 || len(turns) == 0 {
		turns = append(turns, said)
	}
	return turns
}
