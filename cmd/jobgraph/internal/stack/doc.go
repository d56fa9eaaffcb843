// Package stack runs everything in this process: an embedded bus with the planner, the scheduler, the expert-runner and, on request, the
// gateway, each with the same entry point and the same subjects as in a process of its own.
//
// A Stack owns its server, its connections and the goroutines of its services; Stop ends them in order.
package stack
