// Package workspace makes the fresh directory of a run, puts files into it and removes it; Sweep removes what a runner that was
// killed has left. It never reads what is inside, and keeps no state: a directory belongs to its run.
package workspace
