// Package schedule is the contract of recurring jobs: the specification of a schedule, its facts on the bus, and its state.
// Like package events it uses only the standard library, does no I/O and has no state.
package schedule
