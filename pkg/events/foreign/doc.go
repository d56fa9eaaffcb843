// Package foreign knows the settings that predecessor systems take with a request and that belong to the operator here. It
// says which values of them ask for nothing, so that clients of those systems need no change, and what to do about others.
//
// It imports only the standard library and keeps no state.
package foreign
