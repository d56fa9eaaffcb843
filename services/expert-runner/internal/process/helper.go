package process

import "os"

// Helper says whether this program can be started again as the keeper of programs. Only Hook returns one that says so.
type Helper struct{ hooked bool }

// keeperArgument is the hidden argument that makes a program the keeper.
const keeperArgument = "--keep-programs"

// self is this program, even if its file was replaced meanwhile. A build for a test may name another one (scripts/race.sh).
var self = "/proc/self/exe"

// Self is the file of a program that is a helper of this one when it is started with the hidden argument of the helper.
func Self() string { return self }

// Hook returns the Helper of a program that can be the keeper. A process that was started as the keeper never returns from here: it
// does its work before later packages are initialised, whose memory it would otherwise hold for as long as its runner lives.
func Hook() Helper { return Helper{hooked: asKeeper} }

// asKeeper makes a process that was started as the keeper do its work and exit before later packages are initialised. In any other
// process it is true.
var asKeeper = beKeeper()

func beKeeper() bool {
	if len(os.Args) == 3 && os.Args[1] == keeperArgument {
		os.Exit(keep(os.Args[2]))
	}
	return true
}
