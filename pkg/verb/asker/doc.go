// Package asker checks, by the signature of a request, whether its key has the right to a verb, and for which users it may ask.
// Scheduler and planner use it.
//
// It has no state and does no I/O.
package asker
