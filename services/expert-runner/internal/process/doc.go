// Package process runs programs and makes sure that no process of theirs remains: each program leads a process group, which dies with
// the runner and is killed when the program ends. It does not read what they print, and decides nothing about their outcome.
//
// On Linux a Keeper starts them: this program, started again with a hidden argument, is their parent, adopts the processes that they
// leave behind, outlives the runner, and ends them when the runner dies, or gives no sign of life for a program for too long. Its
// only state is the list of its programs. Without a keeper only the leader dies with the runner.
package process
