// Package expert is the interface between the loop and the kinds of experts: a Task goes in, an Ending comes out, and every
// external effect passes through the Task so that it is journaled.
//
// It never uses the bus; the loop supplies the Hand. A Task belongs to the goroutine that runs the expert.
package expert
