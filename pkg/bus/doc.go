// Package bus is the only package that talks to NATS: one connection, one table of streams and buckets, and the operations
// that the services need: publish under an expectation, consume in batches, read the log, keys with compare-and-set, blobs,
// journals, timers, request and reply.
//
// The package decides nothing about jobs and holds no state of theirs. It promises what the broker promises and no more: an
// outcome may be unknown (ErrUnknown), a message may be delivered twice, a pin is not exclusive, and a read from a replica
// may be stale unless the method's comment says "leader". No type or error of the SDK leaves the package; callers branch on
// its sentinel errors. A Bus is safe for concurrent use; a Subscription has one reader.
//
// Bus itself is the connection, publishing and core messages. The rest is in its parts, by subject: Log, Journal,
// Items, Queues, KV, Blobs, Documents, Conversations, Timers, Schedules, DeadLetters, Webhooks, Services, Streams, Retention.
package bus
