// Package cli is the command line: one file per command. A command reads flags, uses the client or folds a log, and prints.
// It decides nothing about jobs.
//
// A System is the environment of the process, which tests can replace. Results go to standard output, notes and faults to
// standard error; with -o json a fault is JSON on standard output, in the form of events.Fault.
package cli
