package llm

import (
	"encoding/json"
	"net/url"
	"slices"
)

// carry is the form of Response.Carry: the items of a turn as the provider sent them, and whose they are. Only the model
// that sealed a thought can open it.
type carry struct {
	From  string            `json:"from"`
	Items []json.RawMessage `json:"items"`
}

// origin names a model at its provider.
func (m ModelConfig) origin() string {
	host := m.BaseURL
	if u, err := url.Parse(m.BaseURL); err == nil {
		host = u.Host
	}
	return m.Model + "@" + host
}

// carried is what goes back with the turn: all its items in their order when a thought is sealed among them, else nil. A
// turn that is told otherwise than it came, because its form was a forced call or a call needed an id, carries nothing.
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

// returned are the items that a turn brings back to this model, nil when it brings none or they are another's.
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
