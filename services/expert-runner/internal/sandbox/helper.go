package sandbox

import (
	"os"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// Helper says that this program can be started again as its own helper. Only Hook gives one that can.
type Helper struct {
	hooked bool
	keeps  process.Helper
}

// Keeps lists what the keeper of programs needs.
func (h Helper) Keeps() process.Helper { return h.keeps }

// Hook must be the first call of a main: in a process that was started as the helper it never returns, in any other it gives the
// Helper.
func Hook() Helper {
	if len(os.Args) > 2 && os.Args[1] == argument {
		os.Exit(enter(os.Args[2], os.Args[3:]))
	}
	return Helper{hooked: true, keeps: process.Hook()}
}
