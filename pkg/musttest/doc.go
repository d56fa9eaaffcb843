// Package musttest has the steps with files and JSON that must succeed for a test to continue: an error fails the test.
package musttest
