// Package baseline is the least that executes a graph durably over JetStream, written by hand so that Jobgraph has something honest
// to be measured against: one ready message and one completion event per node, the state folded from the events and saved in a
// key-value bucket in groups, asynchronous publishes throughout. It survives the loss of each of its processes at any point.
// It has no plans, no outcomes, no retries, no stop and no names, and it is used by nothing but the benchmark and its tests.
// A Scheduler owns the state of all jobs; a Worker owns nothing.
package baseline
