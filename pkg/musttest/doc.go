// Package musttest has what tests do with files and JSON and what must succeed for them to go on: an error fails the test.
package musttest
