// Package finish is the pure part of putting a job's result into words: what was carried out, as the summary or the report
// is told of it, the sources that its results cite, and the rule that says which of them a text lacks.
//
// It makes no requests and keeps nothing; the session decides who writes, the prompts how.
package finish
