package mcp

import (
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// placed is a pool in a workspace with one server "x", whose program runs without a sandbox, and the process groups that were
// started.
func placed(t *testing.T, s Server) (p *Pool, dir string, groups *[]*process.Group) {
	t.Helper()
	dir, groups = t.TempDir(), &[]*process.Group{}
	s.Workspace = true
	p = New(map[string]Server{"x": s}, Settings{
		Dir: t.TempDir(), Path: "/usr/local/bin:/usr/bin:/bin", Grace: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Place: &Place{Dir: dir, Start: func(cmd *exec.Cmd, _ *Server, _ func(error)) (*process.Group, func(), error) {
			g, err := process.Start(cmd)
			*groups = append(*groups, g)
			return g, func() {}, err
		}},
	})
	t.Cleanup(p.Close)
	return p, dir, groups
}

// Without the network a call can change only the workspace: the changes are stored there, and the call may be repeated.
func TestToolsInAWorkspaceAreRepeatedUnlessTheyReachTheNetwork(t *testing.T) {
	for _, network := range []bool{false, true} {
		s := program("good")
		s.Network = network
		p, dir, _ := placed(t, s)
		pay, set, env := opened(t, p, "pay"), opened(t, p, "set"), opened(t, p, "env")
		if !pay.Files || !set.Files || pay.Once != network || set.Once {
			t.Errorf("network %t: %+v %+v", network, pay, set)
		}
		if got, err := env.Call(t.Context(), tool.Call{}); err != nil || !strings.Contains(got, dir) {
			t.Errorf("%q %v", got, err)
		}
		p.Close()
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
	placed, shared := Apart(map[string]Server{"a": {Workspace: true}, "b": {}})
	if _, in := placed["a"]; !in || len(placed) != 1 || len(shared) != 1 {
		t.Errorf("%v %v", placed, shared)
	}
}

// Nothing changes the workspace after the end of a call, even of one that takes too long.
func TestACallThatTakesTooLongEndsItsProgram(t *testing.T) {
	s := program("good")
	s.Timeout = 200 * time.Millisecond
	p, _, groups := placed(t, s)
	hang := opened(t, p, "hang")
	_, err := hang.Call(t.Context(), tool.Call{})
	if err == nil || !strings.Contains(err.Error(), "has not answered within 200ms") {
		t.Error(err)
	}
	select {
	case <-(*groups)[0].Exited():
	default:
		t.Error("the program goes on")
	}
	if got, err := opened(t, p, "echo").Call(t.Context(), tool.Call{Args: `{"n":1}`}); err != nil || got == "" {
		t.Errorf("it was not started again: %q %v", got, err)
	}
}
