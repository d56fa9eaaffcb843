// Package loop is the only place in the runner where the order of effects is written: claim, execute, journal, report, acknowledge.
// What to do is decided by internal/task; how an expert works is in internal/expert; access to the bus is behind the interfaces
// declared here.
//
// State: a Loop owns its runs, each of which belongs to one goroutine from its delivery to its acknowledgement. Beside that
// goroutine a run has at most its heartbeat, which renews the claim. Nothing outlives Run.
package loop
