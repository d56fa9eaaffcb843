// Package graph is the pure core of Jobgraph: a job's state is the fold of its events, and the next actions are derived from that
// state alone.
//
// The package has no clock, randomness, I/O, log or goroutine. Time is the log's own timestamp of each event; timers are commands,
// and their firing is an event like any other. The same events give the same state and the same commands, byte for byte, in every
// process that folds them.
//
// Inside a Job each responsibility is a type that owns its state: dag (SubJobs and edges), outbox (what is pending), queues (runs
// in the queues of pools), waits (requests for input), runs (a SubJob's runs, fences and results), lifecycle (the job's status),
// outline (the order of the work), finale (the result), outcomes (retries, complaints, splits, failures), planning (plans and
// splices), requests (what people ask for) and commands (what Pending returns).
//
// A Job has one owner, which calls Step for each event in the order of the log, publishes what Pending returns, and calls Sent with
// what was delivered. Nothing here is safe for concurrent use.
package graph
