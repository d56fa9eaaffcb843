// Package queue defines a work message in hand for the loops of planner and expert-runner, which do not know the bus.
package queue
