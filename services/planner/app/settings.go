package app

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// Settings are the planner's own. Default gives good ones; Declare lets flags, environment and file set them.
type Settings struct {
	// DefaultExpert, by id or name, takes steps of plans that name no expert; empty means the card tagged "default", or the
	// only one there is.
	DefaultExpert string
	// ExpertWait is how long a plan with unknown experts waits for a runner to announce them before it is rejected.
	ExpertWait time.Duration
	// APIKey, BaseURL and Model say which model plans. Model may be one of the configuration file's; without any of the three
	// the file's default plans, and without a model plans have to come with the request.
	APIKey, BaseURL, Model string
	// Profiles is a folder with profiles and prompts that add to those of the program, or replace them.
	Profiles string
}

// Default gives the settings without a flag.
func Default() Settings { return Settings{ExpertWait: 2 * time.Second} }

// Declare registers the settings.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.String(&s.DefaultExpert, host.Flag{
		Name: "default-expert", Usage: "Expert for steps that name none; without it the one tagged default, or the only one there is.",
	})
	f.Duration(&s.ExpertWait, 0, 20*time.Second, host.Flag{
		Name: "expert-wait", Default: "2s", Usage: "How long a plan with unknown experts waits for a runner to announce them.",
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
	f.String(&s.Profiles, host.Flag{
		Name: "profiles", Usage: "Folder with profiles/NAME.yaml and prompts/LANGUAGE/NAME.tmpl that add to those of the program, or replace them.",
	})
}

// Deps are what an embedding program may bring along; the zero value brings nothing.
type Deps struct {
	// Bus is a connection to use, which stays open; without it Run makes its own from the process's settings.
	Bus *bus.Bus
	// Model answers calls in place of the one that the settings name; ModelName is what people call it.
	Model     llm.Client
	ModelName string
	// Doer sends what models are asked, in place of an HTTP client.
	Doer llm.Doer
	// Owner names this planner in claims; it must be unique. Made up when empty.
	Owner string
	// Hook is called at every boundary between two effects with the boundary's name; an error ends the planner there, as a
	// crash would. It has to be safe for concurrent use. For tests.
	Hook func(point string) error
}

// Points lists the names of the boundaries at which Deps.Hook is called, in their order.
func Points() []string { return service.Points(loop.Points()) }
