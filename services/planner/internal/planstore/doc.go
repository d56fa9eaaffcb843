// Package planstore answers the plan operations, the micro services jobs.api.plan.<command>: on books of plans that it stores in a
// key-value bucket, each written with compare-and-set, and on the graphs of jobs, which it reads from their logs and changes by
// publishing facts.
//
// It decides nothing about either: package plan does. The scheduler alone owns a job's state and acts on the facts.
package planstore
