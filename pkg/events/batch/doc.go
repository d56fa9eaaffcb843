// Package batch is the format of a message that contains the work of several SubJobs. Schedulers publish one, instead of one
// message per SubJob, for pools whose runners all declare in their cards that they accept batches; runners handle the members as if
// each had come alone. Workers in other languages never see one.
//
// The message has one line of JSON per member. All members are for one expert; they may belong to many jobs. A batch is queued
// under a separate pool, so that no consumer of the pool itself gets it.
package batch
