// Package api answers requests about jobs: the micro services jobs.api.<verb>. Reading verbs show a job as the log has it; control
// verbs try the event on a private copy of the state first, so that what the scheduler would ignore is refused with its reason, and
// publish it only if there is no newer control event.
//
// The package owns nothing and decides nothing about jobs: package graph does, and the scheduler's loop acts.
package api
