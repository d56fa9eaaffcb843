// Package recur is the pure core of recurring jobs: what each fact of a schedule means for it. A schedule's state is the fold of its facts; what has to be done next is derived from the state alone, and every
// command has an identity that does not depend on who gives it.
//
// It reads no clock and does no I/O: time is the stream's own, of each fact, and time zones are handed in. A schedule belongs
// to one goroutine.
package recur
