// Package screentest is a terminal for tests: a real pseudo-terminal, and a screen that interprets what is written to it.
// It knows the few control sequences that this program writes and reports all others.
package screentest
