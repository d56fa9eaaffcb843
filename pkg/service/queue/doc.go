// Package queue has a message of work in hand, as the loops of planner and expert-runner see it: they know no bus.
package queue
