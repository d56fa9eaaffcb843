// Package batch is the form of a message that holds the work of several SubJobs. Schedulers publish one, instead of a message for
// each SubJob, for a pool whose runners have all declared in their cards that they take batches; runners hand its members out as if
// each had come by itself. Workers in other languages never see one.
//
// The message is lines of JSON, one for each member. The members are of one expert; they may be of many jobs. A batch lies in the
// queue of work under a pool of its own, so that no consumer of the pool itself gets it.
package batch
