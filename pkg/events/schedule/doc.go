// Package schedule is the contract of recurring jobs: what a schedule says, its facts on the bus, and how it stands. Like the
// contract above it, it uses the standard library only, does no I/O and owns no state.
package schedule
