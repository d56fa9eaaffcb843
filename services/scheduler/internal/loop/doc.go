// Package loop is the scheduler's step, the only place where the order of its effects is written: fetch, step, publish what
// is owed, save, acknowledge.
//
// A Partition owns the jobs of its shards: one goroutine, no locks. It never decides anything about a job (package graph
// does) and never speaks to the bus itself: it drives the ports in port.go, which dry runs and tests replace.
//
// The partition is the order in which its parts work. Each part owns its state, and what it knows of one job is a part of that job:
//
//   - ackTracker: what was delivered and is not acknowledged; what a save covers; what the consumer is told in progress.
//   - cache: the jobs in memory, and the phase of each; phase.go has the table of legal moves. Eviction.
//   - workSet: which jobs are looked at in this step (the dirty set), and which later (the retry set).
//   - loader: which states are read, beside the loop. folder folds them.
//   - admission: how much work a pool's queue may hold, and whose is next; semaphores: concurrency keys that jobs share;
//     reminders: timers for work that waits.
//   - outbox: commands in flight, and batches of work; workBuilder writes the work of a run out of the events it refers to.
//   - saver: what is saved when.
//   - isolator: keeps the faults of one job from the others.
//
// Everything it does may be cut off at any point and done again: deliveries are acknowledged only after the state that
// covers them is saved, a lost cache is rebuilt from the log, and every command is published under an identity that makes
// its repetition harmless.
package loop
