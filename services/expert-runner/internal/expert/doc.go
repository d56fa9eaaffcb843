// Package expert is what the loop and the kinds of experts agree on: a Task goes in, an Ending comes out, and every effect
// on the world passes through the Task so that it is journaled.
//
// It never touches the bus: the loop lends a Hand. A Task belongs to the goroutine that runs the expert.
package expert
