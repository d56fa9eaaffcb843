// Package history reads what happened in a session before a job: for each earlier job the request, the steps and the
// answer, from the session's record and the job's log. It writes nothing and has no state.
package history
