// Package history keeps the canvases of the jobs that were asked for last, so that a page that follows a job does not read its log
// each time. What it keeps is a cache: any gateway makes it from the log.
package history
