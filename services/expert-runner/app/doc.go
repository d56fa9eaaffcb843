// Package app is the entry point of the expert-runner: Run takes the work of its pools, executes it by experts and reports.
// Cards of kind nats are only announced: third-party workers read the work of their pool themselves.
//
// All runners of a pool must serve the same experts: a pool has one consumer, so work may reach any of them, and a runner
// without the expert can only give it back. An expert that lives elsewhere, or has to scale separately, gets its own pool.
package app
