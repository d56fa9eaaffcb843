// Package bus is Jobgraph's only way to NATS: one connection, one table of streams and buckets, and the few operations
// that the services need: publish under an expectation, consume in batches, read the log, keys with compare-and-set, blobs,
// journals, timers, request and reply.
//
// The package decides nothing about jobs and keeps no state of theirs. What it promises is what the broker promises, no
// more: an outcome may be unknown (ErrUnknown), a delivery may come twice, a pin is not exclusive, a read from a replica
// may be stale unless its comment says "leader". No type or error of the SDK crosses its border; callers branch on the
// sentinels alone. A Bus is safe for concurrent use; a Subscription has one reader.
//
// Bus itself is the connection, publishing and core messages. What is kept on it is reached through parts, each with the
// state that it needs: Log, Queues, KV, Blobs, Documents, Timers, DeadLetters, Services, Streams, Retention.
package bus
