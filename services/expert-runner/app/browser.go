package app

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// headless are the names of Chromium's headless shell, which needs no window and no sockets of the file system.
var headless = []string{"chrome-headless-shell", "headless_shell", "chromium-headless-shell"}

// debians is the program that Debian's /usr/bin/chromium-headless-shell, a script, starts: it would outlive that script.
const debians = "/usr/lib/chromium/chromium-headless-shell"

// browser configures the server of the tool browser: the program jobgraph-tools at path with the Chromium of this machine.
func (b *bench) browser(path string, s *Settings) error {
	chromium, err := s.findBrowser()
	if err != nil || path == "" {
		return err
	}
	b.web = mcp.Server{
		Command: path, Args: []string{"--browser", chromium}, Workspace: true, Timeout: tool.BenchTimeout,
		Network: true, // Its calls have effects elsewhere and are not repeated automatically.
		Read:    []string{filepath.Dir(chromium)},
	}
	return nil
}

// findBrowser finds the headless shell of Chromium: where the settings say, or where distributions install it.
func (s *Settings) findBrowser() (string, error) {
	if s.BrowserProgram != "" {
		if _, err := os.Stat(s.BrowserProgram); err != nil {
			return "", fmt.Errorf("needs the program %s, which cannot be read: correct --browser-program", s.BrowserProgram)
		}
		return filepath.Abs(s.BrowserProgram)
	}
	finder := program.Runner{Path: s.CommandPath}
	for _, name := range headless {
		path, err := finder.Find(name)
		if err != nil {
			continue
		}
		if _, err := os.Stat(debians); err == nil && path == "/usr/bin/"+filepath.Base(debians) {
			return debians, nil
		}
		return filepath.EvalSymlinks(path)
	}
	return "", fmt.Errorf("needs the headless shell of Chromium, and none of %s is there: install it (on Debian the package chromium-headless-shell), or set --browser-program",
		strings.Join(headless, ", "))
}

// relayed configures the server of the tool browser: its program has no network, only a connection to a relay behind the guard.
func (b *bench) relayed(ctx context.Context, t *expert.Task, dir string) mcp.Settings {
	settings := b.settings
	settings.Place = &mcp.Place{Dir: dir, Start: func(cmd *exec.Cmd, s *mcp.Server, ended func(error)) (*process.Group, func(), error) {
		ours, theirs, err := sandbox.Pair()
		if err != nil {
			return nil, nil, err
		}
		cmd.ExtraFiles = []*os.File{theirs}
		policy := b.programs.Policy
		policy.Network, policy.Read = false, slices.Concat(policy.Read, s.Read)
		group, release, err := b.programs.Serve(ctx, t, cmd, program.Beside{Dir: dir, Policy: policy, Ended: ended})
		_ = theirs.Close() // The program has a copy.
		if err != nil {
			_ = ours.Close()
			return nil, nil, err
		}
		var relay sync.WaitGroup // Its goroutine ends with the program's connection.
		relay.Go(func() { tool.Relay(ctx, b.guard, ours) })
		return group, func() {
			release()
			_ = ours.Close()
			relay.Wait()
		}, nil
	}}
	return settings
}
