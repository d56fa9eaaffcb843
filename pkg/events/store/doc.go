// Package store defines the errors of stores of events, states and payloads, for code that does not import the bus. Any
// other error means that the call may succeed later.
package store
