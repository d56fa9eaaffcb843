// Package live passes the live items of runs on to the bus: what a run says and does, for people to see while it happens. The first
// piece of an item is sent at once; what follows within 50 ms is sent together. Publishing never makes a run wait: while the bus is
// slow or away, a bounded amount is kept, and a marker says what was left out. Secrets are removed, even if they are spread over
// several pieces.
//
// It promises nothing: an item may be lost, and nothing depends on items. It does not know what an item means.
//
// State: a Writer owns one goroutine and the list of runs with something to send; a Run owns its open items.
package live
