// Package web runs experts that are one HTTP call: the work goes out as JSON, and what comes back is the result.
//
// The call is one effect in the journal: an answer that was kept is never asked for again. A call that may have reached the
// server and brought no answer back is UNKNOWN, and a person decides, unless the card says that it may be repeated. What the
// work says can fill places of the path and of the query, never scheme or host. Headers may hold secrets: they are neither
// logged nor journaled, and no error repeats them.
package web
