// Package plan is the pure core of the planner. It turns bytes in any of five dialects into a checked graph, or into a list
// of all their faults. It recognises a dialect by its shape, repairs what is harmless, maps ids, resolves experts and
// checks the graph.
//
// The package has no clock, randomness, I/O, log or goroutine: the same bytes and cards give the same plan and the same
// faults in the same order. It keeps no state. Functions in Options answer questions about the outside world (time zones,
// JSON Schemas). Nothing recurses on the depth of a graph.
package plan
