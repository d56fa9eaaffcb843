// Package fsck checks a store for consistency: each saved state against the fold of its log and against its digest, the log
// against what the states cover, the payloads that events refer to against the object store, and the object store for payloads
// without a job. It changes nothing.
package fsck
