package llm

import (
	"encoding/json"
	"net/url"
	"slices"
)

// carry is the form of Response.Carry: the items of a turn as the provider sent them, and their origin. Only the model that
// encrypted its reasoning can decrypt it.
type carry struct {
	From  string            `json:"from"`
	Items []json.RawMessage `json:"items"`
}

// origin identifies a model at its provider.
func (m ModelConfig) origin() string {
	host := m.BaseURL
	if u, err := url.Parse(m.BaseURL); err == nil {
		host = u.Host
	}
	return m.Model + "@" + host
}

// carried returns the items to send back with the turn: all of them in order if one contains encrypted reasoning, else nil.
// It returns nil as well if the turn was changed, because its form was a forced call or a call needed an id.
func (m ModelConfig) carried(items []json.RawMessage, calls []Call) json.RawMessage {
	sealed := false
	ids := map[string]bool{}
	for _, raw := range items {
		var item struct {
			Type      word `json:"type"`
			CallID    word `json:"call_id"`
			Encrypted word `json:"encrypted_content"`
		}
		if json.Unmarshal(raw, &item) != nil {
			return nil
		}
		sealed = sealed || item.Type == "reasoning" && item.Encrypted != ""
		if item.Type == "function_call" {
			ids[string(item.CallID)] = true
		}
	}
	same := len(ids) == len(calls) && !slices.ContainsFunc(calls, func(c Call) bool { return !ids[c.ID] })
	if !sealed || !same {
		return nil
	}
	raw, err := json.Marshal(carry{From: m.origin(), Items: items})
	if err != nil {
		return nil
	}
	return raw
}

// returned returns the items that a turn sends back to this model, or nil if it has none or another model's.
func (m ModelConfig) returned(raw json.RawMessage) (items []any) {
	var c carry
	if raw == nil || json.Unmarshal(raw, &c) != nil || c.From != m.origin() {
		return nil
	}
	for _, item := range c.Items {
		items = append(items, item)
	}
	return items
}
