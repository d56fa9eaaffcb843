// Package task is the pure core of the runner: given a work message, the journal of its SubJob and what is known of its
// job, it says what to do with the run (claim it, take it over, leave it to its owner, replay its kept ending, drop it),
// which effects are finished already, and what an ending looks like on the wire.
//
// It has no clock, no I/O, no log and no state of its own: the same facts give the same decision.
package task
