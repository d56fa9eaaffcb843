// Package store keeps the materialised states of jobs in a key-value bucket, for people, tools and a scheduler that starts: one key
// per job, chunks only for states that do not fit a message.
//
// A stored state is a cache of the log, never more. A loaded state is compared with the log first: if the stream is another one, if
// the last event is missing or different (power loss, restore, import), after a torn write or with a wrong digest, it counts as
// missing. A state that was written without a digest is returned as such: the fold of the log has to verify it.
package store
