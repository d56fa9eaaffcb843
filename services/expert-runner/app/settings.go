package app

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
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
	// boxes tries the sandbox levels; nil if cards are only checked.
	boxes *sandbox.Boxes
	// keeper starts programs; nil if cards are only checked.
	keeper *process.Keeper
	// unheard is true for a process without HTTP, which remote agents cannot notify.
	unheard bool
	// secrets are those of the process; nil if cards are only checked.
	secrets *redact.Set
}

// Default returns the settings without any flag.
func Default() Settings {
	return Settings{Pools: []string{events.DefaultPool}, KillGrace: command.DefaultGrace, CommandPath: command.DefaultPath, Prefetch: 1024, Sandbox: string(sandbox.Auto), OrphanAfter: process.DefaultOrphanAfter}
}

// Declare registers the settings.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.Strings(&s.Pools, host.Flag{Name: "pools", Default: events.DefaultPool, Check: checkPool, Usage: "Pools whose work is taken, beside those that the cards name."})
	f.Strings(&s.Experts, host.Flag{Name: "experts", Usage: "Card files of experts, or folders of them."})
	f.String(&s.WorkDir, host.Flag{Name: "work-dir", Usage: "Where the directories of commands are made; empty means the folder for temporary files."})
	f.Bool(&s.KeepFailed, host.Flag{Name: "keep-failed", Usage: "Leave the directory of a command that failed."})
	f.Duration(&s.KillGrace, 0, time.Hour, host.Flag{Name: "kill-grace", Default: command.DefaultGrace.String(), Usage: "How long a command may take to end when it is told to, before it is killed."})
	f.String(&s.CommandPath, host.Flag{Name: "command-path", Default: command.DefaultPath, Usage: "The PATH of commands."})
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
}

func checkPool(pool string) error {
	if !events.ValidID(pool) {
		return fmt.Errorf("want 1 to %d of A-Z a-z 0-9 _ -", events.MaxID)
	}
	return nil
}
