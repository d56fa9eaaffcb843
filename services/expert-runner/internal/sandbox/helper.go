package sandbox

import (
	"os"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// Helper says whether this program can be started again as its own helper. Only Hook returns one that says so.
type Helper struct {
	// Old makes the machine appear as one without namespaces and with this version of Landlock; 0 changes nothing.
	Old int

	hooked bool
	keeps  process.Helper
}

// Keeps returns what the keeper of programs needs.
func (h Helper) Keeps() process.Helper { return h.keeps }

// Hook must be called by a main: it returns the Helper of a program that can be its own. In a process that was started as the
// helper it is never reached, see asHelper.
func Hook() Helper { return Helper{hooked: asHelper, keeps: process.Hook()} }

// asHelper makes a process that was started as the helper do its work before later packages are initialised: schemas, tables and
// expressions of a whole runner would cost tens of milliseconds of processor time for each program that an agent runs. In any other
// process it is true.
var asHelper = beHelper()

func beHelper() bool {
	if len(os.Args) > 2 && os.Args[1] == argument {
		os.Exit(enter(os.Args[2], os.Args[3:]))
	}
	return true
}
