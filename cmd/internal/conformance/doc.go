// Package conformance checks that a worker in any language keeps the contract of the wire: it issues real work for an expert, listens
// to what passes by on the bus, and judges that.
//
// It needs no scheduler: the jobs are its own, known only to it, and it purges what they leave behind.
package conformance
