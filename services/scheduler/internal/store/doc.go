// Package store keeps the materialised states of jobs in a key-value bucket, for people, tools and a scheduler that starts:
// one key a job, chunks only for states that do not fit a message.
//
// A kept state is a cache of the log, never more. What is loaded is held against the log first: another stream, or a last
// event that is gone or different (power loss, restore, import), a torn write, or a digest that does not match, and it is as if there were
// none. What was written without a digest is given as such: the fold of the log has to say whether it is true.
package store
