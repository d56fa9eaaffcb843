package llm

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// anthropic is the Messages API of Anthropic and of providers that speak it.
type anthropic struct{}

const (
	anthropicBase    = "https://api.anthropic.com/v1"
	anthropicVersion = "2023-06-01"
	// anthropicLimit is the token limit of requests that set none, as the API demands one. A model that allows fewer says how many.
	anthropicLimit = 32000
)

type object = map[string]any

// authorize sends the key in Anthropic's header. Other providers of the same API may want a bearer token instead.
func (anthropic) authorize(cfg ModelConfig, header http.Header) {
	header.Set("Anthropic-Version", anthropicVersion)
	if cfg.Key == "" {
		return
	}
	header.Set("X-Api-Key", string(cfg.Key))
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Hostname() != "api.anthropic.com" {
		header.Set("Authorization", "Bearer "+string(cfg.Key))
	}
}

// request builds a request to /messages.
func (anthropic) request(t *turn) (path string, body map[string]any) {
	settings := t.settings()
	system, sides := t.sides()
	body = object{"model": t.cfg.Model, "max_tokens": cmp.Or(settings["max_tokens"], any(anthropicLimit)), "messages": anthropicTurns(sides)}
	if t.shape.limit > 0 {
		body["max_tokens"] = min(t.shape.limit, cmp.Or(t.request.MaxTokens, t.cfg.MaxTokens, t.shape.limit))
	}
	if t.request.Stream {
		body["stream"] = true
	}
	if system = slices.DeleteFunc(system, blank); len(system) > 0 {
		body["system"] = strings.Join(system, "\n\n")
	}
	if stops := slices.DeleteFunc(slices.Clone(t.request.Stop), blank); len(stops) > 0 {
		body["stop_sequences"] = stops
	}
	if tools := anthropicTools(t, sides); len(tools) > 0 {
		body["tools"], body["tool_choice"] = tools, anthropicChoice(t)
	}
	if t.rung() == RungSchema {
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": reduced(t.request.Schema.Schema, anthropicSchema)}}
	}
	if user, ok := t.request.Metadata["user_id"]; ok && settings["metadata"] != nil {
		body["metadata"] = object{"user_id": user}
	}
	thinks := anthropicThought(body, settings, sides)
	if temperature, ok := settings["temperature"].(float64); ok && !thinks {
		body["temperature"] = min(temperature, 1)
	}
	return "/messages", body
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// anthropicThought sets how much the model thinks and reports whether it does. Newer models take an effort, older ones a number of
// tokens. A model that must call a tool cannot think, and an older one cannot continue after a call without a thought.
func anthropicThought(body, settings object, sides []side) bool {
	effort, _ := settings["reasoning_effort"].(string)
	budget, _ := settings["thinking_budget"].(int)
	choice, _ := body["tool_choice"].(object)
	forced := choice["type"] == "any" || choice["type"] == "tool"
	switch {
	case effort == effortNone:
		body["thinking"] = object{"type": "disabled"}
	case effort != "":
		config, ok := body["output_config"].(object)
		if !ok {
			config = object{}
			body["output_config"] = config
		}
		config["effort"] = effort
		if forced {
			return false
		}
		body["thinking"] = object{"type": "adaptive"}
		return true
	case budget > 0 && !forced && !thoughtless(sides):
		limit, _ := body["max_tokens"].(int)
		if budget = min(budget, limit-1); budget < leastBudget {
			return false
		}
		body["thinking"] = object{"type": "enabled", "budget_tokens": budget}
		return true
	}
	return false
}

// leastBudget is the smallest budget for thinking that the API accepts, in tokens.
const leastBudget = 1024

// thoughtless reports whether the model is in the middle of its calls and its last turn has no thought.
func thoughtless(sides []side) bool {
	if len(sides) < 2 || !slices.ContainsFunc(sides[len(sides)-1].parts, func(p sidePart) bool { return p.result != nil }) {
		return false
	}
	return !slices.ContainsFunc(sides[len(sides)-2].parts, func(p sidePart) bool { return p.raw != nil })
}

func anthropicTurns(sides []side) []object {
	turns := make([]object, len(sides))
	for i, s := range sides {
		role := "user"
		if s.model {
			role = "assistant"
		}
		blocks := make([]any, len(s.parts))
		for n, part := range s.parts {
			blocks[n] = anthropicBlockOf(part)
		}
		turns[i] = object{"role": role, "content": blocks}
	}
	return turns
}

func anthropicBlockOf(p sidePart) any {
	switch {
	case p.raw != nil:
		return p.raw
	case p.call != nil:
		return object{"type": "tool_use", "id": p.call.ID, "name": p.call.Name, "input": objectOf(p.call.Args)}
	case p.result != nil:
		block := object{"type": "tool_result", "tool_use_id": p.result.id}
		if !blank(p.result.text) {
			block["content"] = p.result.text
		}
		if p.result.missing {
			block["is_error"] = true
		}
		return block
	case p.image != nil:
		if media, data, ok := p.image.inlined(); ok {
			return object{"type": "image", "source": object{"type": "base64", "media_type": media, "data": data}}
		}
		return object{"type": "image", "source": object{"type": "url", "url": p.image.ImageURL}}
	}
	return object{"type": "text", "text": p.text}
}

// anthropicTools lists the tools. If the history has calls, the API requires their tools even when none is offered any more.
func anthropicTools(t *turn, sides []side) (tools []object) {
	for _, tool := range t.tools() {
		made := object{"name": tool.Name, "input_schema": tool.parameters()}
		if tool.Description != "" {
			made["description"] = tool.Description
		}
		if tool.Strict {
			made["strict"], made["input_schema"] = true, reduced(tool.parameters(), anthropicSchema)
		}
		tools = append(tools, made)
	}
	if len(tools) > 0 {
		return tools
	}
	called := map[string]bool{}
	for _, s := range sides {
		for _, p := range s.parts {
			if p.result != nil && !called[p.result.name] {
				called[p.result.name] = true
				tools = append(tools, object{"name": p.result.name, "input_schema": object{"type": "object"}})
			}
		}
	}
	return tools
}

func anthropicChoice(t *turn) object {
	choice := t.toolChoice()
	switch {
	case len(t.tools()) == 0:
		choice = ToolNone
	case choice == "":
		choice = ToolAuto
	}
	switch choice {
	case ToolAuto, ToolNone:
		return object{"type": choice}
	case ToolRequired:
		return object{"type": "any"}
	}
	return object{"type": "tool", "name": choice}
}

// calls returns the ids of the calls in the blocks of a turn.
func (anthropic) calls(items []json.RawMessage) (ids []string) {
	for _, raw := range items {
		var block anthropicBlock
		if json.Unmarshal(raw, &block) == nil && block.Type == blockCall {
			ids = append(ids, string(block.ID))
		}
	}
	return ids
}

// sealed reports whether a block must be returned unchanged: everything except texts and tool calls.
func (anthropic) sealed(item json.RawMessage) bool {
	var block anthropicBlock
	return json.Unmarshal(item, &block) == nil && block.Type != blockText && block.Type != blockCall
}
