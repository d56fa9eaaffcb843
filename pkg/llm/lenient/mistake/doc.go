// Package mistake makes the corpus that measures the reader of model text: it puts single mistakes into real-looking documents
// whose true value is known. The cases are the same every time.
//
// It is for tests and measurements; no program links it.
package mistake
