// Package workspace makes the fresh directory of a run, puts files into it and removes it; Sweep removes what a runner that was
// killed has left. What a run leaves behind as artifacts is stored by content before it is reported; nothing else inside is read. It
// keeps no state: a directory belongs to its run.
package workspace
