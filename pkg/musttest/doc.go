// Package musttest has steps that must succeed for a test to continue, with files, JSON or anything else: an error fails the
// test. Equal compares what a test gets with what it wants.
package musttest
