package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// boundedPrograms are the limits of programs that a model writes, unless the card sets others: each process may have 4 GiB, all of
// them together 8 GiB in RAM and half an hour of processor time, and the workspace 2 GiB.
func boundedPrograms(l sandbox.Limits) sandbox.Limits {
	for _, one := range []struct {
		value    *int64
		standard int64
	}{{&l.Memory, 4 << 30}, {&l.Total, 8 << 30}, {&l.Processes, 512}, {&l.Files, 1024}, {&l.FileSize, 1 << 30}, {&l.Workspace, 2 << 30}} {
		if *one.value == 0 {
			*one.value = one.standard
		}
	}
	if l.CPU == 0 {
		l.CPU = 30 * time.Minute
	}
	return l
}

// programFaults lists what is wrong with the key run of an agent.
func (a *llmKind) programFaults() (faults events.Faults) {
	for _, f := range a.Run.faults() {
		f.Field = "run." + f.Field
		faults = append(faults, f)
	}
	return faults
}

// programs gives an agent the sandbox for its tool run. Without a sandbox or a shell the tool is not offered, and the card says
// why; if the card asks for a level by name, it is faulty instead.
func (a *llmKind) programs(config *agent.Config, x *expert.Expert, s *Settings, f *cardFile) events.Faults {
	if !slices.Contains(config.Tools, tool.Run) {
		return nil
	}
	box, policy, err := s.openUntrusted(&a.Run, filepath.Dir(f.path))
	switch {
	case errors.Is(err, sandbox.ErrUnavailable) && a.Run.Level == "":
		withhold(config, x, "needs a sandbox: "+oneLine(err), tool.Run)
		x.Card.Tags = append(slices.Clone(x.Card.Tags), notOffered(err))
		return nil
	case err != nil:
		return invalid("run.sandbox", err)
	case box == nil: // Cards are only being checked.
		return nil
	}
	policy.Limits = boundedPrograms(policy.Limits)
	programs := s.programs(box, policy)
	if _, err := programs.Find(agent.Shell); err != nil {
		why := "needs a shell in the path of programs: " + oneLine(err)
		withhold(config, x, why, tool.Run)
		x.Card.Tags = append(slices.Clone(x.Card.Tags), events.ToolsTag+tool.Run+" "+why)
		return nil
	}
	x.Card.Tags = boxed(x.Card.Tags, box)
	config.Programs = programs
	return nil
}

// programs returns what runs programs of models.
func (s *Settings) programs(box *sandbox.Box, policy sandbox.Policy) *program.Runner {
	return &program.Runner{Box: box, Policy: policy, Path: s.CommandPath, Grace: s.KillGrace, Keeper: s.keeper, Secrets: s.secrets}
}

// searches gives an agent the configured web search. Without one, the tool is not offered.
func searches(config *agent.Config, x *expert.Expert, s *Settings) {
	if config.Search = s.search; config.Search == nil && s.boxes != nil {
		withhold(config, x, "nothing is configured that searches the web: set --search-url or a key", tool.SearchWeb)
	}
}

// withhold removes tools from an agent, and returns those that it had.
func withhold(config *agent.Config, x *expert.Expert, why string, names ...string) (had []string) {
	for _, name := range names {
		if slices.Contains(config.Tools, name) {
			had, x.Lacks = append(had, name), append(x.Lacks, expert.Lack{Tool: name, Reason: why})
		}
	}
	config.Tools = slices.DeleteFunc(slices.Clone(config.Tools), func(name string) bool { return slices.Contains(had, name) })
	return had
}

// notOffered is the tag of a card whose tool run is not offered.
func notOffered(err error) string {
	return events.SandboxTag + "unavailable, so the tool run is not offered: " + oneLine(err)
}

// oneLine formats an error as one line of a tag.
func oneLine(err error) string {
	why := strings.Join(strings.Fields(err.Error()), " ")
	return strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
}
