package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// turn is one request in the shape for one model.
type turn struct {
	request Request
	cfg     ModelConfig
	shape   shape
	// redactor removes what the answer must never show.
	redactor *redact.Redactor
	// adapted counts how often the shape has changed within this call.
	adapted int
	// paused is the part of the answer that the provider interrupted, in its own form.
	paused []json.RawMessage
}

// rung returns how structured output is requested, or "".
func (t *turn) rung() Rung {
	if t.request.Schema == nil {
		return ""
	}
	return t.shape.rung
}

// messages returns the history to send. If the form is not passed to the provider, the instructions describe it.
func (t *turn) messages() []Message {
	history := spoken(t.request.Messages)
	if rung := t.rung(); rung != RungObject && rung != RungPrompt {
		return history
	}
	var schema bytes.Buffer
	if json.Compact(&schema, t.request.Schema.Schema) != nil {
		schema.Write(t.request.Schema.Schema)
	}
	form := "Answer with one JSON object and nothing else: no words around it and no code fence. " +
		"The object has to fit this JSON Schema:\n" + schema.String()
	if len(history) > 0 && history[0].Role == RoleSystem {
		history[0].Parts = append(slices.Clip(history[0].Parts), Part{Text: "\n\n" + form})
		return history
	}
	return append([]Message{System(form)}, history...)
}

// tools returns the tools of the request, plus the one that represents the form with RungTool.
func (t *turn) tools() []Tool {
	if t.rung() != RungTool {
		return t.request.Tools
	}
	return append(slices.Clip(t.request.Tools), Tool{
		Name: t.request.Schema.Name, Description: "Give the answer in this form.", Parameters: t.request.Schema.Schema,
	})
}

// toolChoice returns what the model must call, or "". With RungTool it is the form, or one of the tools.
func (t *turn) toolChoice() string {
	switch {
	case t.rung() != RungTool:
		return t.request.ToolChoice
	case len(t.request.Tools) == 0 || t.request.ToolChoice == ToolNone:
		return t.request.Schema.Name
	}
	return cmp.Or(strings.TrimPrefix(t.request.ToolChoice, ToolAuto), ToolRequired)
}

// effortNone asks a model not to think.
const effortNone = "none"

// thinkingBudgets are the tokens for thinking by effort, for models that accept only a number of tokens.
var thinkingBudgets = map[string]int{"minimal": 1024, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 24576, "max": 31999}

// settings returns the fields that a model may reject, with the same names for all dialects.
func (t *turn) settings() map[string]any {
	r := t.request
	all := map[string]any{}
	if temperature := cmp.Or(r.Temperature, t.cfg.Temperature); temperature != nil {
		all["temperature"] = *temperature
	}
	if effort := cmp.Or(r.Effort, t.cfg.Effort); effort != "" {
		all["reasoning_effort"] = effort
		if budget := thinkingBudgets[effort]; budget > 0 && protocols[t.shape.dialect] != nil && t.shape.drops("reasoning_effort") {
			all["thinking_budget"] = budget // This is the older form of the same setting.
		}
	}
	if r.Metadata != nil && t.cfg.SendMetadata {
		all["metadata"] = r.Metadata
	}
	if limit := cmp.Or(r.MaxTokens, t.cfg.MaxTokens); limit > 0 {
		all[t.limitName()] = limit
	}
	if t.shape.dialect == DialectResponses {
		all["include"] = []string{"reasoning.encrypted_content"}
	}
	if r.Seed != nil && (t.shape.dialect == DialectChat || t.shape.dialect == DialectGemini) {
		all["seed"] = *r.Seed
	}
	if r.Stream && t.shape.dialect == DialectChat {
		all["stream_options"] = true // The SDK sends it.
	}
	maps.DeleteFunc(all, func(name string, _ any) bool { return t.shape.drops(name) })
	return all
}

// limitName returns the name of the token limit: OpenAI requires the new one, most other providers know only the old one. A
// provider that rejected one gets the other.
func (t *turn) limitName() string {
	const newName, oldName = "max_completion_tokens", "max_tokens"
	switch t.shape.dialect {
	case DialectResponses:
		return newName
	case DialectAnthropic, DialectGemini:
		return oldName
	}
	u, err := url.Parse(t.cfg.BaseURL)
	first, second := oldName, newName
	if err == nil && strings.HasSuffix(u.Host, "openai.com") {
		first, second = newName, oldName
	}
	if t.shape.drops(first) {
		return second
	}
	return first
}

// fields returns the fields that the SDK cannot send, with their names on the wire.
func (t *turn) fields() map[string]any {
	set := t.settings()
	delete(set, "stream_options")
	if t.shape.dialect == DialectResponses {
		for from, to := range map[string]string{"max_completion_tokens": "max_output_tokens", "reasoning_effort": "reasoning"} {
			if field, ok := set[from]; ok {
				delete(set, from)
				set[to] = field
			}
		}
		if effort, ok := set["reasoning"]; ok {
			set["reasoning"] = map[string]any{"effort": effort}
		}
	}
	maps.Copy(set, t.cfg.Extra)
	return set
}
