// Package report writes what an analysis found for people: a Markdown report, a picture and the data behind both. A
// file appears under its name whole or not at all, and writing it again with the same content changes nothing, so that
// a run that is repeated after a crash does no harm.
package report
