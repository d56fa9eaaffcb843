// Package task is the program's side of the command-expert contract: one JSON object on standard input says what has
// to be done, one JSON object on standard output says how it ended. Any language can do the same in a few lines; this
// package is those lines for the programs of this folder.
//
// It owns no state and reads no environment.
package task
