package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// configured reads a configuration file with this text.
func configured(t *testing.T, text string) (Config, error) {
	t.Helper()
	path := musttest.Temp(t, "jobgraph.yaml", text)
	return ReadConfig(path, func(name string) (string, bool) {
		return map[string]string{"KEY": "sk-secret-0123456789"}[name], name == "KEY"
	})
}

const twoModels = `version: 1
settings: {log-level: debug}
mcpServers: {any: thing}
models:
  fast: {model: small-1, base_url: "http://127.0.0.1:1/v1", key: "${KEY}", limits: {concurrency: 2, tokens_per_minute: 1000}, price: {prompt: 1, completion: 2}}
  strong: {model: large-1, api: responses, fallback: [fast]}
`

// proves F4
func TestTheModelThatIsMeantIsChosenBySettingsThenByTheFile(t *testing.T) {
	two := musttest.Get(configured(t, twoModels))(t)
	standard := musttest.Get(configured(t, strings.ReplaceAll(twoModels, "strong:", "default:")))(t)
	one := musttest.Get(configured(t, "version: 1\nmodels: {only: {model: m-1}}\n"))(t)
	for _, c := range []struct {
		config             Config
		own                Settings
		name, shown, names string
	}{
		{Config{}, Settings{}, "", "", ""},
		{Config{}, Settings{APIKey: "k"}, "default", "gpt-5-mini", "default"},
		{Config{}, Settings{BaseURL: "http://x/v1", Model: "m"}, "m", "m", "m"},
		{two, Settings{Model: "strong"}, "strong", "strong", "fast strong"},
		{two, Settings{Model: "other"}, "other", "other", "fast other strong"},
		{standard, Settings{}, "default", "large-1", "default fast"},
		{standard, Settings{APIKey: "k"}, "default", "large-1", "default fast"},
		{one, Settings{BaseURL: "http://x/v1"}, "only", "only", "only"},
	} {
		models, name, shown, err := c.config.choose(c.own)
		if err != nil || name != c.name || shown != c.shown || strings.Join(models.Names(), " ") != c.names {
			t.Errorf("%v with %+v: %q, %q of %v, %v", c.config.Models.Names(), c.own, name, shown, models.Names(), err)
		}
	}
	if _, _, _, err := two.choose(Settings{}); err == nil || !strings.Contains(err.Error(), "fast, strong") {
		t.Error(err)
	}
}

func TestFaultsOfTheFileHaveTheirPlaceAndNeverAKey(t *testing.T) {
	for text, want := range map[string]string{
		"version: 1\nmodels:\n  a: {modell: x}\n":                                      "jobgraph.yaml:3:7: models.a.modell: unknown key",
		"version: 1\nmodels:\n  a:\n    fallback: [b]\n":                               `jobgraph.yaml:4:16: models.a.fallback[0]: "b" is no other configured model, there are a`,
		"version: 1\nmodels:\n  a:\n    key: ${KEY}\n    temperature: 3\n":             "jobgraph.yaml:5:18: models.a.temperature: 3 is not between 0 and 2",
		"version: 1\nmodels:\n  a:\n    key: ${MISSING}\n":                             "jobgraph.yaml:4:10: models.a.key: the variable MISSING is not set",
		"version: 1\nmodels:\n  a:\n    key: ${file:gone.txt}\n":                       "jobgraph.yaml:4:10: models.a.key: the file of ${file:gone.txt} cannot be read",
		"version: 1\nmodels:\n  a:\n    key: ${KEY}\n    timeout: ${KEY}\n":            `jobgraph.yaml:5:14: models.a.timeout: "${KEY}" is not a duration`,
		"version: 1\nmodells: {}\n":                                                    `did you mean "models"?`,
		"models: {}\n":                                                                 "write version: 1",
		"version: 1\nmodels:\n  a: {key: \"${KEY}\", base_url: \"http://${KEY}@h\"}\n": "must hold no user, password or query",
	} {
		_, err := configured(t, text)
		var faults host.Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nwant %s\ngot  %v", text, want, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-0123") {
			t.Errorf("the key is told: %v", err)
		}
	}
}

func TestAKeyIsReadFromTheEnvironmentAndShownToNobody(t *testing.T) {
	c, err := configured(t, twoModels)
	if err != nil || string(c.Models["fast"].Key) != "sk-secret-0123456789" {
		t.Fatal(err)
	}
	shown := c.Shown()
	for _, s := range shown {
		if strings.Contains(s.Value, "secret") {
			t.Errorf("%+v", s)
		}
	}
	var names []string
	for _, s := range shown {
		names = append(names, s.Name+"="+s.Value)
	}
	want := []string{
		"models.fast.model=small-1", "models.fast.base_url=http://127.0.0.1:1/v1", "models.fast.key=********", "models.fast.limits.concurrency=2",
		"models.fast.limits.tokens_per_minute=1000", "models.fast.price.prompt=1", "models.fast.price.completion=2",
		"models.strong.model=large-1", "models.strong.api=responses", "models.strong.fallback[0]=fast",
	}
	musttest.Equal(t, want, names)
}
