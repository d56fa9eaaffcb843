// Package workspace creates the fresh directory of a run, copies files into it and removes it; Sweep removes what killed
// runners left behind. The artifacts of a run are stored by content before they are reported; nothing else inside is read.
// The package keeps no state: a directory belongs to its run.
package workspace
