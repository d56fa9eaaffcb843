package llm_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm"
)

func TestTheVariablesOfAProviderAreForItsModelsAlone(t *testing.T) {
	for _, c := range []struct {
		name string
		v    llm.Variables
		api  string
		key  llm.Secret
	}{
		{"a model of OpenAI", llm.Variables{Key: "o", Model: "gpt", Anthropic: "a", Gemini: "g"}, "", "o"},
		{"one of Anthropic", llm.Variables{Key: "o", Model: "claude-x", Anthropic: "a", Gemini: "g"}, "anthropic", "a"},
		{"one of Google", llm.Variables{Key: "o", Model: "gemini-x", Anthropic: "a", Gemini: "g"}, "gemini", "g"},
		{"one of Anthropic at a router", llm.Variables{Key: "o", Model: "claude-x", BaseURL: "http://router.test/v1", Anthropic: "a"}, "", "o"},
		{"without its key", llm.Variables{Key: "o", Model: "claude-x", Gemini: "g"}, "", "o"},
		{"by the address", llm.Variables{Model: "x", BaseURL: "https://api.anthropic.com", Anthropic: "a"}, "", "a"},
	} {
		all, standard := llm.Config{}.With(c.v)
		if got := all[standard]; got.API != c.api || got.Key != c.key || standard != c.v.Model {
			t.Errorf("%s: %s, api %q, key %q", c.name, standard, got.API, string(got.Key))
		}
	}
	if all, standard := (llm.Config{}).With(llm.Variables{Anthropic: "a", Gemini: "g"}); len(all) != 0 || standard != "" {
		t.Errorf("a key alone is a model: %v", standard)
	}
}
