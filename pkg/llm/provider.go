package llm

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Provider is a provider of models that a key in an environment variable makes usable.
type Provider struct {
	// Name is the provider's name for people.
	Name string
	// Variables are the conventional variables for its key; the first that is set counts.
	Variables []string
	// BaseURL is the documented address of its API.
	BaseURL string
	// API is the dialect of that address.
	API Dialect
	// Model is used if only the key is given: a medium-priced model that calls tools.
	Model string
	// Names are prefixes of the names of its own models. A name with a slash belongs to providers that serve models of several
	// makers.
	Names []string
	// Others is true for a provider that serves models of several makers, whose names contain a slash.
	Others bool
}

// Providers lists the known providers. If keys of several are set and nothing else decides, the first of them is used.
func Providers() []Provider {
	return []Provider{
		{Name: "OpenAI", Variables: []string{"OPENAI_API_KEY"}, BaseURL: openAI, API: DialectChat, Model: "gpt-5-mini", Names: []string{"gpt-", "o1", "o3", "o4", "chatgpt-"}},
		{Name: "Anthropic", Variables: []string{"ANTHROPIC_API_KEY"}, BaseURL: anthropicBase, API: DialectAnthropic, Model: "claude-sonnet-4-6", Names: []string{"claude"}},
		{Name: "Gemini", Variables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURL: geminiBase, API: DialectGemini, Model: "gemini-flash-latest", Names: []string{"gemini", "gemma"}},
		{Name: "OpenRouter", Variables: []string{"OPENROUTER_API_KEY"}, BaseURL: "https://openrouter.ai/api/v1", API: DialectChat, Model: "openrouter/auto", Others: true},
		{Name: "Mistral", Variables: []string{"MISTRAL_API_KEY"}, BaseURL: "https://api.mistral.ai/v1", API: DialectChat, Model: "mistral-medium-latest", Names: []string{"mistral", "ministral", "magistral", "codestral", "devstral"}},
		{Name: "DeepSeek", Variables: []string{"DEEPSEEK_API_KEY"}, BaseURL: "https://api.deepseek.com/v1", API: DialectChat, Model: "deepseek-chat", Names: []string{"deepseek"}},
		{Name: "xAI", Variables: []string{"XAI_API_KEY"}, BaseURL: "https://api.x.ai/v1", API: DialectChat, Model: "grok-4", Names: []string{"grok"}},
		{Name: "Groq", Variables: []string{"GROQ_API_KEY"}, BaseURL: "https://api.groq.com/openai/v1", API: DialectChat, Model: "openai/gpt-oss-120b", Others: true},
		{Name: "Together", Variables: []string{"TOGETHER_API_KEY"}, BaseURL: "https://api.together.xyz/v1", API: DialectChat, Model: "openai/gpt-oss-120b", Others: true},
		{Name: "Moonshot", Variables: []string{"MOONSHOT_API_KEY"}, BaseURL: "https://api.moonshot.ai/v1", API: DialectChat, Model: "kimi-latest", Names: []string{"kimi", "moonshot"}},
		{Name: "DashScope", Variables: []string{"DASHSCOPE_API_KEY"}, BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", API: DialectChat, Model: "qwen-plus", Names: []string{"qwen", "qwq"}},
		{Name: "Zhipu", Variables: []string{"ZHIPUAI_API_KEY", "ZHIPU_API_KEY"}, BaseURL: "https://open.bigmodel.cn/api/paas/v4", API: DialectChat, Model: "glm-4.6", Names: []string{"glm"}},
	}
}

// openAIKey is the variable whose key is also used for the address in OPENAI_BASE_URL.
const openAIKey = "OPENAI_API_KEY"

// KeyVariables lists the variables of all providers' keys, in the order of Providers.
func KeyVariables() (names []string) {
	for _, p := range Providers() {
		names = append(names, p.Variables...)
	}
	return names
}

// KeyUsage describes the variable of a key.
func KeyUsage(variable string) string {
	for _, p := range Providers() {
		if slices.Contains(p.Variables, variable) {
			return fmt.Sprintf("Key for models of %s, unless another address is given.", p.Name)
		}
	}
	return ""
}

// Variables are the environment's settings for one model, and its keys of providers.
type Variables struct {
	// Key, BaseURL and Model are OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL. Model may be a configured name.
	Key            Secret
	BaseURL, Model string
	// Keys are the keys of the other providers, by variable. A key is sent only to the address of its provider.
	Keys map[string]Secret
}

// key returns the key of a provider and the variable that holds it.
func (v Variables) key(p Provider) (key Secret, variable string) {
	for _, variable := range p.Variables {
		key := v.Keys[variable]
		if variable == openAIKey {
			key = v.Key
		}
		if key != "" {
			return key, variable
		}
	}
	return "", ""
}

// Account is the provider that the variables choose.
type Account struct {
	Provider
	// Variable is the variable that holds the key.
	Variable string
	// Also lists the variables of other keys that are set, in the order of the providers.
	Also []string
	key  Secret
}

// Account returns the provider for the model of the variables; ok is false if an address is given, or no key. With a model name it
// is the provider whose own model that is, else one that serves models of several makers; without a name, the first one with a key.
func (v Variables) Account() (a Account, ok bool) {
	if v.BaseURL != "" {
		return a, false
	}
	best := 0
	var set []string
	for _, p := range Providers() {
		key, variable := v.key(p)
		if key == "" {
			continue
		}
		set = append(set, variable)
		if fit := p.fits(v.Model); fit > best {
			best, a = fit, Account{Provider: p, Variable: variable, key: key}
		}
	}
	a.Also = slices.DeleteFunc(set, func(variable string) bool { return variable == a.Variable })
	return a, best > 0
}

// fits says how well a model's name fits a provider: 3 for its own, 2 for a name with a slash at a provider of several makers'
// models, else 1.
func (p Provider) fits(model string) int {
	slash := strings.Contains(model, "/")
	switch {
	case !slash && slices.ContainsFunc(p.Names, func(name string) bool { return strings.HasPrefix(strings.ToLower(model), name) }):
		return 3
	case slash && p.Others:
		return 2
	}
	return 1
}

// model returns the model that the variables describe.
func (v Variables) model() ModelConfig {
	if a, ok := v.Account(); ok {
		m := ModelConfig{Model: v.Model, Key: a.key}
		if m.Model == "" {
			m.Model = a.Model
		}
		if a.BaseURL != openAI {
			m.BaseURL, m.API = a.BaseURL, string(a.API)
		}
		return m
	}
	m := ModelConfig{Model: v.Model, BaseURL: v.BaseURL, Key: v.Key}
	if m.Key == "" {
		m.Key = v.keyAt(v.BaseURL)
	}
	return m
}

// keyAt returns the key of the provider that an address belongs to.
func (v Variables) keyAt(address string) Secret {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" {
		return ""
	}
	for _, p := range Providers() {
		if own, err := url.Parse(p.BaseURL); err == nil && strings.EqualFold(own.Host, at.Host) {
			key, _ := v.key(p)
			return key
		}
	}
	return ""
}
