// Package intake admits jobs: it checks a request, resolves every default into rules that decide the job for ever, and
// states job.requested. Where requests come from the queue it also answers for the bad ones.
//
// It keeps no state: the id of a job decides what a repeat is, and the log admits one job.requested per id.
package intake
