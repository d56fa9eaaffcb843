package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// toolsProgram is the program with the tools of the workbench that come with Jobgraph.
const toolsProgram = "jobgraph-tools"

// bench are an agent's tools whose programs run in the workspace of its run: those of jobgraph-tools, and those of servers in the
// configuration.
type bench struct {
	// kit are the tools of jobgraph-tools that the card names; own is their server.
	kit []string
	own mcp.Server
	// web is the server of the tool browser, which runs in a separate program; its Command is empty if the card does not name the
	// tool. guard says what it may reach.
	web   mcp.Server
	guard egress.Guard
	// servers are those of the configuration; owner tells which tools they have without starting one.
	servers map[string]mcp.Server
	owner   *mcp.Pool
	// settings apply to the pools of all these servers.
	settings mcp.Settings
	// programs is the sandbox; nil if cards are only being checked.
	programs *program.Runner
}

// Owns implements agent.Workbench.
func (b *bench) Owns(pattern string) bool {
	return slices.Contains(b.kit, pattern) || b.browses(pattern) || b.owner.Owns(pattern)
}

func (b *bench) browses(pattern string) bool { return pattern == tool.Browser && b.web.Command != "" }

// At implements agent.Workbench.
func (b *bench) At(ctx context.Context, t *expert.Task, dir string) (agent.Toolbox, func()) {
	settings := b.at(ctx, t, dir)
	box := &benchBox{
		bench: b, servers: mcp.New(b.servers, settings), own: mcp.New(map[string]mcp.Server{toolsProgram: b.own}, settings),
		web: mcp.New(map[string]mcp.Server{toolsProgram: b.web}, b.relayed(ctx, t, dir)),
	}
	return box, func() { box.servers.Close(); box.own.Close(); box.web.Close() }
}

// at are the settings of the servers of a run.
func (b *bench) at(ctx context.Context, t *expert.Task, dir string) mcp.Settings {
	settings := b.settings
	settings.Place = &mcp.Place{Dir: dir, Start: func(cmd *exec.Cmd, s *mcp.Server, ended func(error)) (*process.Group, func(), error) {
		policy := b.programs.Policy
		policy.Network = s.Network
		read, err := from(b.settings.Dir, s.Read)
		if err != nil {
			return nil, nil, err
		}
		policy.Read = slices.Concat(policy.Read, read)
		return b.programs.Serve(ctx, t, cmd, program.Beside{Dir: dir, Policy: policy, Ended: ended})
	}}
	return settings
}

// benchBox is the toolbox of one run: its programs work in the workspace of the run.
type benchBox struct {
	*bench
	servers, own, web *mcp.Pool
}

// Open implements agent.Toolbox. The tools of jobgraph-tools keep their plain names and have no digest, since they belong to the
// runner.
func (b *benchBox) Open(ctx context.Context, patterns []string) (tools []tool.Tool, err error) {
	for _, pattern := range patterns {
		pool, name, ours := b.servers, pattern, slices.Contains(b.kit, pattern) || b.browses(pattern)
		switch {
		case b.browses(pattern):
			pool, name = b.web, toolsProgram+"__"+pattern
		case ours:
			pool, name = b.own, toolsProgram+"__"+pattern
		}
		found, err := pool.Open(ctx, []string{name})
		if err != nil {
			return nil, err
		}
		for i := range found {
			if ours {
				found[i].Name, found[i].Digest = pattern, ""
			}
		}
		tools = append(tools, found...)
	}
	return tools, nil
}

// bench gives an agent the tools that work in its workspace. Missing ones are not offered, and the card says why.
func (a *llmKind) bench(config *agent.Config, x *expert.Expert, c *catalog, s *Settings, f *cardFile) events.Faults {
	boxes := c.models.boxes
	b := &bench{servers: boxes.placed, owner: boxes.placing, settings: boxes.settings}
	lacks := func(why string, names ...string) {
		if had := withhold(config, x, why, names...); len(had) > 0 {
			x.Card.Tags = append(x.Card.Tags, events.ToolsTag+strings.Join(had, ",")+" "+why)
		}
	}
	path, err := s.findTools()
	if err != nil {
		lacks(err.Error(), append(tool.BenchNames(), tool.Browser)...)
	} else {
		b.own = mcp.Server{Command: path, Workspace: true, Timeout: tool.BenchTimeout}
	}
	if slices.Contains(config.Tools, tool.Browser) {
		if err := b.browser(path, s); err != nil {
			lacks(err.Error(), tool.Browser)
		}
		b.guard = egress.Guard{Allow: config.Allow}
	}
	b.kit = slices.DeleteFunc(tool.BenchNames(), func(name string) bool { return !slices.Contains(config.Tools, name) })
	if !slices.ContainsFunc(config.Tools, b.Owns) {
		return nil
	}
	box, policy, err := s.openUntrusted(&a.Run, filepath.Dir(f.path))
	switch {
	case errors.Is(err, sandbox.ErrUnavailable) && a.Run.Level == "":
		names := slices.DeleteFunc(slices.Clone(config.Tools), func(name string) bool { return !b.Owns(name) })
		lacks("needs a sandbox: "+oneLine(err), names...)
		return nil
	case err != nil:
		return invalid("run.sandbox", err)
	}
	if b.web.Command != "" && box != nil && box.Level() != sandbox.Namespaces {
		lacks("needs the sandbox level namespaces, which keeps the network from Chromium; here it is "+string(box.Level())+": "+box.Why(), tool.Browser)
		b.web = mcp.Server{}
	}
	config.Workbench = b
	if box == nil { // Cards are only being checked.
		return nil
	}
	policy.Limits = boundedPrograms(policy.Limits)
	b.programs = s.programs(box, policy)
	x.Card.Tags = boxed(x.Card.Tags, box)
	return nil
}

// findTools finds jobgraph-tools: where the settings say, beside this program, or in PATH.
func (s *Settings) findTools() (string, error) {
	if s.ToolsProgram != "" {
		if _, err := os.Stat(s.ToolsProgram); err != nil {
			return "", fmt.Errorf("need the program %s, which cannot be read: correct --tools-program", s.ToolsProgram)
		}
		return filepath.Abs(s.ToolsProgram)
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		beside := filepath.Join(filepath.Dir(self), toolsProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	finder := program.Runner{Path: s.CommandPath}
	path, err := finder.Find(toolsProgram)
	if err != nil {
		return "", fmt.Errorf("need the program %s, which is neither beside this one nor in %s: put it there (make build makes both), or set --tools-program", toolsProgram, s.CommandPath)
	}
	return path, nil
}
