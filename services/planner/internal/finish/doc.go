// Package finish is the pure part of writing a job's summary or report: the executed steps as material for the text, the
// sources that the results cite, and the check which of those sources a text leaves out.
//
// It makes no requests and stores nothing. Package planning decides who writes the text; the prompts decide how.
package finish
