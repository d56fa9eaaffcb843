// Package lease holds the claim of a run: it makes the claim and is the only writer behind it. Runner and planner write
// their journals through it; Fence closes a run from outside. Package run decides what may be claimed and whether a claim
// still holds.
//
// A lease is how long others keep off the run, not how long its work may take. While the bus is unreachable an append is
// retried, and a late record is still stored unless the run was taken over: every append expects the previous one.
package lease
