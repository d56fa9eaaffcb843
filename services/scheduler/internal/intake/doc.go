// Package intake admits jobs: it checks a request, resolves every default into rules that apply to the job for ever, and publishes
// job.requested. It also reports rejected requests from the queue.
//
// It keeps no state: the id of a job identifies repeats, and the log admits one job.requested per id.
package intake
