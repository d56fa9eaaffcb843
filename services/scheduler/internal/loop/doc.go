// Package loop is the scheduler's step, the only place where the order of its effects is written: fetch, step, publish pending
// commands, save, acknowledge.
//
// A Partition owns the jobs of its shards: one goroutine, no locks. It never decides anything about a job (package graph
// does) and never calls the bus itself: it uses the ports in port.go, which dry runs and tests replace.
//
// The partition calls its parts in order. Each part owns its state; what it knows of one job is a field of that job:
//
//   - beside: goroutines that wait for others, how many there are of each kind, and their results.
//   - ackTracker: what was delivered and is not acknowledged; what a save covers; which deliveries are reported in progress.
//   - cache: the jobs in memory, and the phase of each; phase.go has the table of legal moves. Eviction. facts: events that work
//     may refer to.
//   - workSet: which jobs are looked at in this step (the dirty set), and which later (the retry set).
//   - loader: reads states outside the loop. folder folds them.
//   - admission: how much work a pool's queue may hold, and which job is next; semaphores: concurrency keys that jobs share;
//     reminders: timers for work that waits.
//   - outbox: commands in flight, and whose work goes in batches. What is needed only while commands are published is in a sending,
//     which ends with the call. workBuilder builds the work of a run from the events it refers to.
//   - saver: which states are saved, and when.
//   - isolator: keeps the faults of one job from the others.
//
// Everything it does may be interrupted at any point and repeated: deliveries are acknowledged only after the state that
// covers them is saved, a lost cache is rebuilt from the log, and every command is published under an identity that makes
// its repetition harmless.
package loop
