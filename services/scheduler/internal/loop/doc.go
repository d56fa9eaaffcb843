// Package loop is the scheduler's step, the only place where the order of its effects is written: fetch, step, publish what
// is owed, save, acknowledge.
//
// A Partition owns the jobs of its shards: one goroutine, no locks. It never decides anything about a job (package graph
// does) and never speaks to the bus itself: it drives the ports in port.go, which dry runs and tests replace.
//
// Everything it does may be cut off at any point and done again: deliveries are acknowledged only after the state that
// covers them is saved, a lost cache is rebuilt from the log, and every command is published under an identity that makes
// its repetition harmless.
package loop
