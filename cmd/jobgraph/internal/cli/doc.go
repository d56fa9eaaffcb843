// Package cli is the command line: one file per command, each of which reads flags, asks the client or folds a log, and
// prints. What is decided about jobs is decided elsewhere.
//
// A System is the outside of the process, so that a test can be one. Results go to standard output, notes and faults to
// standard error; with -o json a fault is JSON on standard output, in the one shape of events.Fault.
package cli
