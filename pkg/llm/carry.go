package llm

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
)

// carry is the form of Response.Carry: the items of a turn as the provider sent them, and their origin. Only the model that
// encrypted or signed its reasoning can read it.
type carry struct {
	From  string            `json:"from"`
	Items []json.RawMessage `json:"items"`
}

// origin identifies a model at its provider, and the form of its items.
func (m ModelConfig) origin(d Dialect) string {
	host := m.BaseURL
	if u, err := url.Parse(m.BaseURL); err == nil {
		host = u.Host
	}
	if protocols[d] != nil {
		return string(d) + ":" + m.Model + "@" + host
	}
	return m.Model + "@" + host
}

// carried returns the items to send back with the turn: all of them in order if one is sealed, else nil. It returns nil as well if the turn was
// changed: its form was a forced call, a call needed an id, or a sealed item holds a secret.
func (t *turn) carried(items []json.RawMessage, calls []Call) json.RawMessage {
	d := t.shape.dialect
	keep := sameCalls
	form := itemForms[d]
	if form != nil {
		keep = func(items []json.RawMessage, calls []Call) bool { return keeps(form, items, calls) }
	}
	for i, raw := range items {
		clean := t.redactor.JSON(raw)
		if form != nil && form.sealed(raw) && !bytes.Equal(clean, raw) {
			return nil
		}
		items[i] = clean
	}
	if !keep(items, calls) {
		return nil
	}
	raw, err := json.Marshal(carry{From: t.cfg.origin(d), Items: items})
	if err != nil {
		return nil
	}
	return raw
}

// keeps reports whether items contain a sealed one and the calls of the answer.
func keeps(form itemForm, items []json.RawMessage, calls []Call) bool {
	ids := form.calls(items)
	if len(ids) != len(calls) || !slices.ContainsFunc(items, form.sealed) {
		return false
	}
	for i, id := range ids {
		if id != "" && id != calls[i].ID {
			return false
		}
	}
	return true
}

// sameCalls reports whether items of the Responses API contain encrypted reasoning and the calls of the answer.
func sameCalls(items []json.RawMessage, calls []Call) bool {
	sealed := false
	ids := map[string]bool{}
	for _, raw := range items {
		var item struct {
			Type      word `json:"type"`
			CallID    word `json:"call_id"`
			Encrypted word `json:"encrypted_content"`
		}
		if json.Unmarshal(raw, &item) != nil {
			return false
		}
		sealed = sealed || item.Type == "reasoning" && item.Encrypted != ""
		if item.Type == "function_call" {
			ids[string(item.CallID)] = true
		}
	}
	same := len(ids) == len(calls) && !slices.ContainsFunc(calls, func(c Call) bool { return !ids[c.ID] })
	return sealed && same
}

// returned returns the items that a turn sends back to this model, or nil if it has none or another model's.
func (m ModelConfig) returned(d Dialect, raw json.RawMessage) []json.RawMessage {
	var c carry
	if raw == nil || json.Unmarshal(raw, &c) != nil || c.From != m.origin(d) {
		return nil
	}
	return c.Items
}
