package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
)

// completion returns a whole answer of the chat API.
func completion(q Question, a Answer) object {
	body := object{
		"id": fmt.Sprintf("chatcmpl-%d", q.N), "object": "chat.completion", "created": 0, "model": q.Model,
		"usage": chatUsage(a.used(q)), "choices": []object{},
	}
	if a.Fault == EmptyChoices {
		return body
	}
	message := object{"role": "assistant", "content": a.Text}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	if a.Refusal != "" {
		message["refusal"] = a.Refusal
	}
	var calls []object
	for i, call := range a.Calls {
		calls = append(calls, object{
			"id": callID(q, i, call), "type": "function", "function": object{"name": call.Name, "arguments": call.Args},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	choice := object{"index": 0, "message": message, "finish_reason": a.finish()}
	if a.Fault == ErrorInChunk {
		body["error"] = object{"code": 502, "message": cmp.Or(a.Error, "the provider behind the router broke")}
		choice["finish_reason"] = "error"
	}
	body["choices"] = []object{choice}
	return body
}

func callID(q Question, i int, call Call) string {
	return cmp.Or(call.ID, fmt.Sprintf("call_%d_%d", q.N, i))
}

func chatUsage(u Usage) object {
	usage := object{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
	if u.CostUSD != nil {
		usage["cost"] = *u.CostUSD
	}
	return usage
}

// response returns a whole answer of the Responses API.
func response(q Question, a Answer) object {
	used := a.used(q)
	body := object{
		"id": fmt.Sprintf("resp_%d", q.N), "object": "response", "created_at": 0, "model": q.Model, "status": "completed",
		"output": output(q, a), "error": nil, "incomplete_details": nil,
		"usage": object{
			"input_tokens": used.Prompt, "output_tokens": used.Completion, "total_tokens": used.Prompt + used.Completion,
			"input_tokens_details":  object{"cached_tokens": used.Cached},
			"output_tokens_details": object{"reasoning_tokens": used.Reasoning},
		},
	}
	switch a.finish() {
	case "length":
		body["status"], body["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case "content_filter":
		body["status"], body["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	if a.Fault == ErrorInChunk {
		body["status"], body["error"] = "failed", object{"code": "server_error", "message": cmp.Or(a.Error, "the model broke")}
	}
	if a.Fault == EmptyChoices {
		delete(body, "output")
		delete(body, "status")
	}
	return body
}

// output lists the items of an answer.
func output(q Question, a Answer) []object {
	items := []object{}
	if a.Reasoning != "" {
		items = append(items, object{
			"type": "reasoning", "id": fmt.Sprintf("rs_%d", q.N), "encrypted_content": fmt.Sprintf("sealed-%d", q.N),
			"summary": []object{{"type": "summary_text", "text": a.Reasoning}},
		})
	}
	var content []object
	if a.Text != "" {
		content = append(content, object{"type": "output_text", "text": a.Text, "annotations": []object{}})
	}
	if a.Refusal != "" {
		content = append(content, object{"type": "refusal", "refusal": a.Refusal})
	}
	if content != nil {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_%d", q.N), "role": "assistant", "status": "completed", "content": content,
		})
	}
	for i, call := range a.Calls {
		items = append(items, object{
			"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", q.N, i), "call_id": callID(q, i, call), "name": call.Name,
			"arguments": call.Args, "status": "completed",
		})
	}
	return items
}

// stream sends an answer as server-sent events, with the fault that it may have.
func (s api) stream(w http.ResponseWriter, r *http.Request, q Question, a Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	to := &sender{w: w, r: r, answer: a}
	_, _ = fmt.Fprint(w, ": the answer begins\n\n") // The caller may be gone.
	body, end := s.events(q, a)
	for i, event := range body {
		if a.Fault == CutStream && a.Cut > 0 && i == a.Cut {
			break
		}
		if !to.send(event, i > 0) {
			return
		}
	}
	switch a.Fault {
	case CutStream:
		panic(http.ErrAbortHandler)
	case BadJSON:
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"delta\":!\n\n") // The caller may be gone.
		return
	case Hang:
		<-r.Context().Done()
		return
	case NoFinish:
		end = s.regular
	}
	for _, event := range end {
		if !to.send(event, true) {
			return
		}
	}
	_, _ = fmt.Fprint(w, s.done) // The caller may be gone.
}

// sender writes events with the pauses of the answer.
type sender struct {
	w      http.ResponseWriter
	r      *http.Request
	answer Answer
}

func (s *sender) send(event object, gap bool) bool {
	if gap && !pause(s.r, s.answer.Gap) {
		return false
	}
	data, err := json.Marshal(event)
	if err != nil {
		return false
	}
	name := ""
	if kind, ok := event["type"].(string); ok {
		name = "event: " + kind + "\n"
	}
	if _, err := fmt.Fprintf(s.w, "%sdata: %s\n\n", name, data); err != nil {
		return false
	}
	flush(s.w)
	return true
}

// chunks returns the chunks of a chat answer and those that end it.
func chunks(q Question, a Answer) (body, end []object) {
	chunk := func(delta object, finish any) object {
		return object{
			"id": fmt.Sprintf("chatcmpl-%d", q.N), "object": "chat.completion.chunk", "created": 0, "model": q.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	body = append(body, chunk(object{"role": "assistant", "content": ""}, nil))
	for _, piece := range a.pieces(a.Reasoning) {
		body = append(body, chunk(object{"reasoning_content": piece}, nil))
	}
	for _, piece := range a.pieces(a.Text) {
		body = append(body, chunk(object{"content": piece}, nil))
	}
	if a.Refusal != "" {
		body = append(body, chunk(object{"refusal": a.Refusal}, nil))
	}
	for i, call := range a.Calls {
		start := object{"index": i, "id": callID(q, i, call), "type": "function", "function": object{"name": call.Name, "arguments": ""}}
		body = append(body, chunk(object{"tool_calls": []object{start}}, nil))
		for _, piece := range a.pieces(call.Args) {
			more := object{"index": i, "function": object{"arguments": piece}}
			body = append(body, chunk(object{"tool_calls": []object{more}}, nil))
		}
	}
	last := chunk(object{}, a.finish())
	usage := chunk(object{}, nil)
	usage["choices"], usage["usage"] = []object{}, chatUsage(a.used(q))
	switch a.Fault {
	case ErrorInChunk:
		broken := chunk(object{"content": ""}, "error")
		broken["error"] = object{"code": 502, "message": cmp.Or(a.Error, "the provider behind the router broke")}
		return body, []object{broken}
	case EmptyChoices:
		return nil, []object{usage}
	}
	return body, []object{last, usage}
}

// responseEvents returns the events of a Responses answer and those that end it.
func responseEvents(q Question, a Answer) (body, end []object) {
	body = append(body, object{"type": "response.created", "response": object{"id": fmt.Sprintf("resp_%d", q.N), "status": "in_progress"}})
	for _, piece := range a.pieces(a.Reasoning) {
		body = append(body, object{"type": "response.reasoning_summary_text.delta", "delta": piece})
	}
	for _, piece := range a.pieces(a.Text) {
		body = append(body, object{"type": "response.output_text.delta", "delta": piece})
	}
	if a.Refusal != "" {
		body = append(body, object{"type": "response.refusal.delta", "delta": a.Refusal})
	}
	for i, item := range output(q, a) {
		body = append(body, object{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	if a.Fault == EmptyChoices {
		body = body[:1]
	}
	last := response(q, a)
	kind, ok := last["status"].(string)
	if !ok {
		kind = "completed"
	}
	return body, []object{{"type": "response." + kind, "response": last}}
}
