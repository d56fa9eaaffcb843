// Package history reads what was said in a session before a job: what the person asked, how it was gone about and what came of
// it, job by job, out of the session's record and the log of each job. It writes nothing and keeps nothing.
package history
