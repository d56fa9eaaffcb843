// Package queue defines a delivered work message and the receipt that settles it, for the loops of planner and
// expert-runner, which do not know the bus.
package queue
