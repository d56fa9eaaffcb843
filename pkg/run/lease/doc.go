// Package lease keeps the claim of a run: it takes it, and is the only writer behind it. Runner and planner write their journals
// through it; Fence closes a run from outside. What may be claimed, and whether a claim still stands, package run decides.
//
// A lease is how long others keep off the run, not how long its work may go on. While the bus is away an append waits and is
// tried again, and a late record is stored until a takeover: every append expects the one before.
package lease
