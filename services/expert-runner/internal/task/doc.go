// Package task is the pure core of the runner: given a work message, the journal of its SubJob and what is known about its job, it
// says what to do with the run (claim it, take it over, leave it to its owner, replay its recorded ending, drop it), which effects
// are finished already, and what an ending looks like on the wire.
//
// It has no clock, I/O, log or state of its own: the same facts give the same decision.
package task
