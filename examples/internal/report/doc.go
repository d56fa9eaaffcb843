// Package report writes the findings of an analysis for people: a Markdown report, a picture and the data behind both. A file
// appears under its name completely or not at all, and writing it again with the same content changes nothing, so that repeating a
// run after a crash does no harm.
package report
