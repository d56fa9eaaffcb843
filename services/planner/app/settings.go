package app

import (
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// Settings configures the planner. Default returns usable values; Declare registers flags, environment and file keys.
type Settings struct {
	// DefaultExpert, by id or name, takes steps of plans that name no expert; empty means the card tagged "default", or the
	// only card.
	DefaultExpert string
	// ExpertWait is how long a plan with unknown experts waits for a runner to announce them before it is rejected.
	ExpertWait time.Duration
	// APIKey, BaseURL and Model select the model that plans. Model may be one of the configuration file's. If all are
	// empty, the file's default is used. Without a model, plans must come with the request.
	APIKey, BaseURL, Model string
	// Keys are the keys of other providers, by their variables: see llm.Providers.
	Keys map[string]llm.Secret
	// Profiles is a folder with profiles and prompts that add to the built-in ones or replace them.
	Profiles string
	// PlanAge is how long a stored plan stays after its last use; 0 means for ever. PlansPerBook limits the plans of a book.
	PlanAge      time.Duration
	PlansPerBook int
}

// Default returns the settings without any flag.
func Default() Settings {
	return Settings{ExpertWait: 2 * time.Second, PlanAge: 90 * 24 * time.Hour, PlansPerBook: 200}
}

// Declare registers the settings as flags, environment variables and keys of the file.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.String(&s.DefaultExpert, host.Flag{
		Name: "default-expert", Usage: "Expert for steps that name none; without it the one tagged default, or the only one there is.",
	})
	f.Duration(&s.ExpertWait, 0, 20*time.Second, host.Flag{
		Name: "expert-wait", Default: "2s", Usage: "How long a plan with unknown experts waits for a runner to announce them.",
	})
	f.Duration(&s.PlanAge, 0, 100*365*24*time.Hour, host.Flag{
		Name: "plan-age", Default: "2160h", Usage: "How long a plan that is kept stays after its last use; 0 keeps it for ever. The active plan of a book stays.",
	})
	f.Int(&s.PlansPerBook, 1, 10_000, host.Flag{
		Name: "plans-per-book", Default: "200", Usage: "How many plans a book keeps; for a new one the plan goes whose last use is longest ago.",
	})
	f.String(&s.APIKey, host.Flag{
		Name: "openai-api-key", Env: "OPENAI_API_KEY", Secret: true, Usage: "Key of the model's provider; those on the own machine need none.",
	})
	f.String(&s.BaseURL, host.Flag{
		Name: "openai-base-url", Env: "OPENAI_BASE_URL", Usage: "Where the model's API is, up to and including /v1; any provider that speaks OpenAI's.",
	})
	f.String(&s.Model, host.Flag{
		Name: "openai-model", Env: "OPENAI_MODEL", Usage: "The model to plan with: a name under models in the configuration file, else the model's name at its provider.",
	})
	s.Keys = map[string]llm.Secret{}
	for _, variable := range llm.KeyVariables()[1:] { // The first is OpenAI's.
		f.Add(host.Flag{
			Name: strings.ToLower(strings.ReplaceAll(variable, "_", "-")), Env: variable, Secret: true, Usage: llm.KeyUsage(variable),
			Set: func(key string) error { s.Keys[variable] = llm.Secret(key); return nil },
		})
	}
	f.String(&s.Profiles, host.Flag{
		Name: "profiles", Usage: "Folder with profiles/NAME.yaml and prompts/LANGUAGE/NAME.tmpl that add to those of the program, or replace them.",
	})
}

// Variables returns the settings of models in the environment.
func (s *Settings) Variables() llm.Variables {
	return llm.Variables{Key: llm.Secret(s.APIKey), BaseURL: s.BaseURL, Model: s.Model, Keys: s.Keys}
}

// Deps are parts that an embedding program may supply; the zero value supplies none.
type Deps struct {
	// Bus is a connection to use, which stays open. If it is nil, Run opens its own from the process's settings.
	Bus *bus.Bus
	// Model answers calls instead of the configured model; ModelName is its name for people.
	Model     llm.Client
	ModelName string
	// Doer sends requests to models, instead of an HTTP client.
	Doer llm.Doer
	// Owner identifies this planner in claims and must be unique; made up if empty.
	Owner string
	// Hook is called with the name of each boundary between two effects. An error ends the planner there, as a crash would.
	// It must be safe for concurrent use. For tests.
	Hook func(point string) error
}

// Points lists the boundaries at which Deps.Hook is called, in order.
func Points() []string { return service.Points(loop.Points()) }
