// Package history caches the canvases of recently viewed jobs, so that a page that follows a job does not read its whole log each
// time. Any gateway can make them again from the log.
package history
