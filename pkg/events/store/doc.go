// Package store names what a store of events, states and payloads says of a call that did not succeed, for code that does not know
// the bus. Any other error means that the call may succeed later.
package store
