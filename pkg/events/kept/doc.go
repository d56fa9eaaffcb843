// Package kept is the form in which the state of a job stands in the bucket of states: what the store puts in front of the core's
// own fields, and the digest by which damage is found.
//
// A digest finds what was torn, cut, or written by hand. It does not find a forger, who can make one.
package kept
