package llm_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestTheVariablesOfAProviderAreForItsModelsAlone(t *testing.T) {
	keys := func(pairs ...string) map[string]llm.Secret {
		m := map[string]llm.Secret{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = llm.Secret(pairs[i+1])
		}
		return m
	}
	both := keys("ANTHROPIC_API_KEY", "a", "GEMINI_API_KEY", "g")
	for _, c := range []struct {
		name         string
		v            llm.Variables
		model, host  string
		api          string
		key          llm.Secret
		defaultModel bool
	}{
		{"a model of OpenAI", llm.Variables{Key: "o", Model: "gpt", Keys: both}, "gpt", "", "", "o", false},
		{"one of Anthropic", llm.Variables{Key: "o", Model: "claude-x", Keys: both}, "claude-x", "api.anthropic.com", "anthropic", "a", false},
		{"one of Google", llm.Variables{Key: "o", Model: "gemini-x", Keys: both}, "gemini-x", "generativelanguage.googleapis.com", "gemini", "g", false},
		{"by the other variable", llm.Variables{Model: "gemini-x", Keys: keys("GOOGLE_API_KEY", "G")}, "gemini-x", "generativelanguage.googleapis.com", "gemini", "G", false},
		{"one of Anthropic at a router", llm.Variables{Key: "o", Model: "claude-x", BaseURL: "http://router.test/v1", Keys: both}, "claude-x", "router.test", "", "o", false},
		{"no key for an address of somebody else", llm.Variables{Model: "claude-x", BaseURL: "https://router.test/v1", Keys: both}, "claude-x", "router.test", "", "", false},
		{"without its key", llm.Variables{Key: "o", Model: "claude-x", Keys: keys("GEMINI_API_KEY", "g")}, "claude-x", "", "", "o", false},
		{"by the address", llm.Variables{Model: "x", BaseURL: "https://api.anthropic.com", Keys: both}, "x", "api.anthropic.com", "", "a", false},
		{"not in the clear", llm.Variables{Model: "x", BaseURL: "http://api.anthropic.com", Keys: both}, "x", "api.anthropic.com", "", "", false},
		{"a name with a slash", llm.Variables{Key: "o", Model: "qwen/qwen3", Keys: keys("OPENROUTER_API_KEY", "r", "DASHSCOPE_API_KEY", "d")}, "qwen/qwen3", "openrouter.ai", "chat", "r", false},
		{"a key alone", llm.Variables{Keys: keys("MISTRAL_API_KEY", "m", "GROQ_API_KEY", "q")}, "mistral-medium-latest", "api.mistral.ai", "chat", "m", true},
		{"OpenAI's key alone", llm.Variables{Key: "o", Keys: both}, "gpt-5-mini", "", "", "o", true},
		{"an address alone", llm.Variables{BaseURL: "http://127.0.0.1:1/v1", Keys: both}, "", "127.0.0.1:1", "", "", true},
	} {
		all, standard := llm.Config{}.With(c.v)
		got := all[standard]
		at, err := url.Parse(got.BaseURL)
		if err != nil || got.Model != c.model || at.Host != c.host || got.API != c.api || got.Key != c.key || (standard == llm.DefaultModel) != c.defaultModel {
			t.Errorf("%s: %s is %s at %s, api %q, key %q", c.name, standard, got.Model, got.BaseURL, got.API, string(got.Key))
		}
		if err := all.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if all, standard := (llm.Config{}).With(llm.Variables{Keys: keys("PATH", "x")}); len(all) != 0 || standard != "" {
		t.Errorf("a variable of something else is a model: %v", standard)
	}
}

func TestOfSeveralKeysOneCountsAndTheOthersAreNamed(t *testing.T) {
	v := llm.Variables{Keys: map[string]llm.Secret{"XAI_API_KEY": "x", "ANTHROPIC_API_KEY": "a", "GOOGLE_API_KEY": "g"}}
	a, ok := v.Account()
	if d := cmp.Diff([]string{"GOOGLE_API_KEY", "XAI_API_KEY"}, a.Also); !ok || a.Name != "Anthropic" || a.Variable != "ANTHROPIC_API_KEY" || d != "" {
		t.Error(ok, a.Name, a.Variable, d)
	}
	v.Model = "grok-9"
	a, ok = v.Account()
	if d := cmp.Diff([]string{"ANTHROPIC_API_KEY", "GOOGLE_API_KEY"}, a.Also); !ok || a.Name != "xAI" || d != "" {
		t.Error(ok, a.Name, d)
	}
}

// Each row of the table is complete, uses HTTPS, and is chosen for its own default model.
func TestEachProviderIsUsableByItsKeyAlone(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range llm.Providers() {
		at, err := url.Parse(p.BaseURL)
		if err != nil || at.Scheme != "https" || p.Model == "" || len(p.Variables) == 0 || !slices.Contains(llm.APIs(), string(p.API)) {
			t.Errorf("%+v", p)
		}
		for _, variable := range p.Variables {
			if seen[variable] || !strings.HasSuffix(variable, "_API_KEY") || !strings.Contains(llm.KeyUsage(variable), p.Name) {
				t.Errorf("%s of %s", variable, p.Name)
			}
			seen[variable] = true
			v := llm.Variables{Keys: map[string]llm.Secret{variable: "k"}}
			if variable == "OPENAI_API_KEY" {
				v.Key = "k"
			}
			for _, model := range []string{"", p.Model} {
				v.Model = model
				if a, ok := v.Account(); !ok || a.Name != p.Name || a.Variable != variable {
					t.Errorf("%s with model %q: %+v", variable, model, a)
				}
			}
		}
	}
}

// The documentation has the same table as the program.
func TestThePageOfModelsHasEveryProvider(t *testing.T) {
	page := musttest.Read(t, "../../docs/models.md")
	for _, p := range llm.Providers() {
		names := "`" + strings.Join(p.Variables, "`, `") + "`"
		address := strings.TrimPrefix(p.BaseURL, "https://")
		if p.Name == "OpenAI" {
			address += ", or `OPENAI_BASE_URL`"
		}
		if row := "| " + names + " | " + address + " | " + p.Model + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/models.md lacks %s", row)
		}
	}
}
