// Package app is the door of the expert-runner: Run takes work of its pools, executes it by experts of the kinds command and
// func, and reports. Cards of kind nats are announced only: foreign workers consume the work of their pool themselves.
//
// All runners of a pool must serve the same experts: a pool has one consumer, so work may reach any of them, and one that
// does not have the expert can only hand it on. An expert that lives elsewhere, or has to scale alone, gets its own pool.
package app
