// Package fsck holds a store against itself: each saved state against the fold of its log and against its digest, the log against
// what the states have seen of it, and the payloads that events name against the object store. It changes nothing.
package fsck
