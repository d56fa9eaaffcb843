// Package demo shows Jobgraph to a newcomer, without a key, a network or anything else that has to be there: a tour by real
// commands, and a runner that is killed with -9 in the middle of its calls.
//
// World is what lies outside of the engine in both, a scripted model and a shop, and counts what it is asked for. The package
// owns the processes that it starts, and leaves none behind.
package demo
