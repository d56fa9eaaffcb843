// Package task is the program's side of the command-expert contract: one JSON object on standard input describes the task, one JSON
// object on standard output the outcome. Any language can do the same in a few lines; this package has those lines for the programs
// of this folder.
//
// It owns no state and reads no environment.
package task
