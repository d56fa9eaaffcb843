// Package baseline is the simplest program that executes a graph durably over JetStream, written by hand as a fair
// comparison for Jobgraph: one ready message and one completion event per node, the state folded from the events and saved
// in a key-value bucket in groups, with asynchronous publishes throughout. It survives the loss of each of its processes at
// any point. It has no plans, outcomes, retries, stops or names. Only the benchmark and its tests use it. A Scheduler owns
// the state of all jobs; a Worker owns nothing.
package baseline
