package process

import "os"

// Helper says that this program can be started again as the keeper of programs. Only Hook gives one that can.
type Helper struct{ hooked bool }

// keeperArgument is the hidden argument that makes a program the keeper.
const keeperArgument = "--keep-programs"

// Hook must be the first call of a main: in a process that was started as the keeper it never returns, in any other it gives the
// Helper.
func Hook() Helper {
	if len(os.Args) == 3 && os.Args[1] == keeperArgument {
		os.Exit(keep(os.Args[2]))
	}
	return Helper{hooked: true}
}
