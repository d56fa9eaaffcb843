// Package stack runs everything in this process: an embedded bus, and the planner, the scheduler and the expert-runner over
// it, each through the same door and the same subjects as when it is a process of its own.
//
// A Stack owns its server, its connections and the goroutines of its services; Stop ends them all in order.
package stack
