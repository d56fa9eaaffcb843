// Package stream sends server-sent events. A Writer is one connection; Feeds shares one reader of a job's log among all streams of
// that job, so that an event is read and encoded once.
//
// A stream that falls behind reads the log again, so the server stores no events for it. A connection that takes nothing for a
// while is closed: its reader resumes with Last-Event-ID.
package stream
