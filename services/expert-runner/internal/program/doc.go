// Package program runs a program that a tool of an agent asked for: in a sandbox, in the workspace of the run, with its
// output bounded and passed on while it is written.
//
// It journals nothing and does not judge what a program did. A Runner has no state.
package program
