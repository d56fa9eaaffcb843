// Package process runs programs that nothing is left of: each leads a process group of its own, which dies with the runner and
// is killed when the program ends. It keeps no state between programs, reads nothing of what they print, and decides nothing
// about their outcome.
package process
