// Package recur is the pure core of schedules. A schedule's state is the fold of its facts. The next commands are derived
// from the state alone, and the identity of each command does not depend on which process executes it.
//
// It reads no clock and does no I/O: the time is that of each fact in the stream, and time zones are arguments. A schedule
// belongs to one goroutine.
package recur
