// Package recommend is a pure core: a graph of ways to go about work, and of the tools that each of them is done with. It
// recommends tools for an agent by walking from the actions that are named for it.
//
// It opens no tool and does no I/O; a Graph is read from a configuration and never changed.
package recommend
