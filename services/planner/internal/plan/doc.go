// Package plan is the pure core of the planner: bytes in any of five dialects in, a checked JobGraph or every fault of
// it out. It decodes by shape, coerces what is harmless, maps ids, resolves experts and judges the graph.
//
// The package has no clock, no chance, no I/O, no log and no goroutine: the same bytes and the same cards give the same
// plan and the same faults in the same order. It keeps no state. Whatever needs the outside world (time zones, JSON
// Schemas) is asked of functions in Options. Nothing recurses on the depth of a graph.
package plan
