// Package web runs experts that are one HTTP call: the work is sent as JSON, and the answer is the result.
//
// The call is one effect in the journal: a recorded answer is never requested again. A call that may have reached the
// server without an answer has an unknown outcome, and a person decides, unless the card says that it may be repeated.
// Fields of the work can fill placeholders in path and query, never in scheme or host. Headers may contain secrets: they
// are neither logged nor journaled, and no error repeats them.
package web
