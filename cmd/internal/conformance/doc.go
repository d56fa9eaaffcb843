// Package conformance checks that a worker in any language keeps the wire contract: it issues real work for an expert,
// observes the messages on the bus, and checks them.
//
// It needs no scheduler: its jobs are known only to itself, and it purges what they leave behind.
package conformance
