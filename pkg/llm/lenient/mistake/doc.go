// Package mistake makes the corpus that the reader of model text is measured by: it puts one mistake after another into
// real-looking documents whose true value is known. The same cases come out every time.
//
// It is for tests and measurements; no program links it.
package mistake
