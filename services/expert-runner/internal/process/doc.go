// Package process runs programs that nothing is left of: each leads a process group of its own, which dies with the runner and
// is killed when the program ends. It reads nothing of what they print, and decides nothing about their outcome.
//
// On Linux a Keeper starts them: this program, started again with a hidden argument, is their parent, adopts whom they leave behind,
// outlives the runner and ends them when the runner dies, or gives no sign of life of a program for too long. Its only state is which
// programs it has. Without a keeper the leader alone dies with the runner.
package process
