package app

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/search"
)

// Settings configures the runner. Default returns usable values; Declare registers flags, environment and file keys.
type Settings struct {
	// Pools are pools to serve in addition to those that the cards name.
	Pools []string
	// Experts are card files, or folders of them (*.md).
	Experts []string
	// WorkDir is the folder for workspaces; the system's temporary folder if empty.
	WorkDir string
	// KeepFailed keeps the workspace of a command that did not end in SUCCESS.
	KeepFailed bool
	// KillGrace is how long a command may take to end after SIGTERM.
	KillGrace time.Duration
	// CommandPath is the PATH of commands.
	CommandPath string
	// ToolsProgram is the file of jobgraph-tools; empty means beside this program, then in CommandPath.
	ToolsProgram string
	// BrowserProgram is the headless shell of Chromium, for the tool browser; empty means where distributions put it, or in CommandPath.
	BrowserProgram string
	// Prefetch is how many messages a pool without commands holds at once. Pools with commands hold as many as they run.
	Prefetch int
	// Unattended says that no person is available to approve tool calls: calls that need approval are denied.
	Unattended bool
	// Sandbox is the default sandbox level for programs of experts: auto, best-effort, namespaces, landlock or none.
	Sandbox string
	// OrphanAfter is how long a program continues while the runner cannot renew its claim, because it is suspended or the bus is
	// away.
	OrphanAfter time.Duration
	// APIKey, BaseURL and Model define the model of agents whose card names none. Model may be a name of the configuration file.
	APIKey, BaseURL, Model string
	// Keys are the keys of other providers, by their variables: see llm.Providers.
	Keys map[string]llm.Secret
	// SearchURL is the address of a SearXNG server, or of the API of SearchProvider in place of its public one. Without both, the
	// first key decides.
	SearchURL, SearchProvider string
	// BraveKey, TavilyKey and ExaKey are the keys of providers that search the web.
	BraveKey, TavilyKey, ExaKey string
	// Builtin offers the built-in experts with their tools where there is a model and no card.
	Builtin bool
	// search searches the web; nil if there is no provider, or cards are only checked.
	search *search.Client
	// boxes tries the sandbox levels; nil if cards are only checked.
	boxes *sandbox.Boxes
	// keeper starts programs; nil if cards are only checked.
	keeper *process.Keeper
	// unheard is true for a process without HTTP, which remote agents cannot notify.
	unheard bool
	// secrets are the secrets of the process; nil if cards are only checked.
	secrets *redact.Set
}

// Default returns the settings without any flag.
func Default() Settings {
	return Settings{Pools: []string{events.DefaultPool}, KillGrace: command.DefaultGrace, CommandPath: command.DefaultPath, Prefetch: 1024, Sandbox: string(sandbox.Auto), OrphanAfter: process.DefaultOrphanAfter}
}

// Declare registers the settings as flags, environment variables and keys of the file.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.Strings(&s.Pools, host.Flag{Name: "pools", Default: events.DefaultPool, Check: checkPool, Usage: "Pools whose work is taken, beside those that the cards name."})
	f.Strings(&s.Experts, host.Flag{Name: "experts", Usage: "Card files of experts, or folders of them."})
	f.String(&s.WorkDir, host.Flag{Name: "work-dir", Usage: "Where the directories of commands are made; empty means the folder for temporary files."})
	f.Bool(&s.KeepFailed, host.Flag{Name: "keep-failed", Usage: "Leave the directory of a command that failed."})
	f.Duration(&s.KillGrace, 0, time.Hour, host.Flag{Name: "kill-grace", Default: command.DefaultGrace.String(), Usage: "How long a command may take to end when it is told to, before it is killed."})
	f.String(&s.CommandPath, host.Flag{Name: "command-path", Default: command.DefaultPath, Usage: "The PATH of commands."})
	f.String(&s.BrowserProgram, host.Flag{Name: "browser-program", Usage: "The headless shell of Chromium, for the tool browser; empty means the usual places and --command-path."})
	f.String(&s.ToolsProgram, host.Flag{Name: "tools-program", Usage: "The file of jobgraph-tools, which has the tools sql, plot, pdf and browser; empty means beside this program, then in --command-path."})
	f.Int(&s.Prefetch, 1, 1<<16, host.Flag{Name: "prefetch", Default: "1024", Usage: "How many messages a pool of Go functions holds at once."})
	f.Bool(&s.Unattended, host.Flag{Name: "unattended", Usage: "Deny calls of tools for which a policy would ask a person."})
	f.Choice(&s.Sandbox, sandbox.Words(), host.Flag{
		Name: "sandbox", Default: string(sandbox.Auto), Usage: "What keeps programs of experts from files, network and processes that are not theirs; auto is the strongest level of this machine.",
	})
	f.Duration(&s.OrphanAfter, time.Second, 24*time.Hour, host.Flag{Name: "orphan-after", Default: process.DefaultOrphanAfter.String(), Usage: "How long a program goes on while the runner cannot renew its claim."})
	f.String(&s.APIKey, host.Flag{
		Name: "openai-api-key", Env: "OPENAI_API_KEY", Secret: true, Usage: "Key of the model's provider; those on the own machine need none.",
	})
	f.String(&s.BaseURL, host.Flag{
		Name: "openai-base-url", Env: "OPENAI_BASE_URL", Usage: "Where the model's API is, up to and including /v1; any provider that speaks OpenAI's.",
	})
	f.String(&s.Model, host.Flag{
		Name: "openai-model", Env: "OPENAI_MODEL", Usage: "The model of agents whose card names none: a name under models in the configuration file, else the model's name at its provider.",
	})
	s.Keys = map[string]llm.Secret{}
	for _, variable := range llm.KeyVariables()[1:] { // The first is OpenAI's.
		f.Add(host.Flag{
			Name: strings.ToLower(strings.ReplaceAll(variable, "_", "-")), Env: variable, Secret: true, Usage: llm.KeyUsage(variable),
			Set: func(key string) error { s.Keys[variable] = llm.Secret(key); return nil },
		})
	}
	f.String(&s.SearchURL, host.Flag{Name: "search-url", Usage: "Address of a SearXNG server that searches the web for agents, or of the API of --search-provider."})
	f.Choice(&s.SearchProvider, search.Providers(), host.Flag{
		Name: "search-provider", Usage: "What searches the web for agents: searxng, brave, tavily or exa; without it an address means searxng, else the first key decides.",
	})
	f.String(&s.BraveKey, host.Flag{Name: "brave-api-key", Env: "BRAVE_API_KEY", Secret: true, Usage: "Key of Brave Search."})
	f.String(&s.TavilyKey, host.Flag{Name: "tavily-api-key", Env: "TAVILY_API_KEY", Secret: true, Usage: "Key of Tavily."})
	f.String(&s.ExaKey, host.Flag{Name: "exa-api-key", Env: "EXA_API_KEY", Secret: true, Usage: "Key of Exa."})
}

// variables returns the settings of models in the environment.
func (s *Settings) variables() llm.Variables {
	return llm.Variables{Key: llm.Secret(s.APIKey), BaseURL: s.BaseURL, Model: s.Model, Keys: s.Keys}
}

// searcher returns what searches the web; nil if nothing is configured.
func (s *Settings) searcher() (*search.Client, error) {
	keys := []struct {
		provider search.Provider
		key      string
	}{{search.Brave, s.BraveKey}, {search.Tavily, s.TavilyKey}, {search.Exa, s.ExaKey}}
	chosen := search.Settings{Provider: search.Provider(s.SearchProvider), Address: s.SearchURL}
	for _, k := range keys {
		switch {
		case chosen.Provider == k.provider:
			chosen.Key = k.key
		case chosen.Provider == "" && chosen.Address == "" && k.key != "":
			chosen.Provider, chosen.Key = k.provider, k.key
		}
	}
	if chosen.Provider == "" && chosen.Address == "" {
		return nil, nil
	}
	c, err := search.New(chosen)
	if err != nil {
		return nil, host.Faults{{
			Code: events.CodeInvalid, Field: "search-provider", Message: "the web cannot be searched", Cause: err.Error(),
			Hint: "give --search-url for SearXNG, or a provider with its key: BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY",
		}}
	}
	return c, nil
}

func checkPool(pool string) error {
	if !events.ValidID(pool) {
		return fmt.Errorf("want 1 to %d of A-Z a-z 0-9 _ -", events.MaxID)
	}
	return nil
}
