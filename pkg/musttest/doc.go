// Package musttest has steps that must succeed for a test to continue, with files, JSON or anything else: an error fails the
// test.
package musttest
