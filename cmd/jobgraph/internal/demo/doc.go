// Package demo demonstrates Jobgraph without a key, a network or any other prerequisite: a tour of real commands, and a
// runner that is killed with -9 in the middle of its calls.
//
// World is the outside world of both, a scripted model and a shop, and counts the calls to it. The package owns the
// processes that it starts and leaves none behind.
package demo
