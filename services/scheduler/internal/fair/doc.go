// Package fair is the scheduler's third pure core: whose turn it is when more work is ready than a pool's queue should hold.
//
// A Queue belongs to one pool. It holds jobs, not work: the highest priority goes first, then the sessions take turns, then the
// jobs within a session. It has no clock, randomness or I/O, every operation takes constant time, and it has one owner.
package fair
