// Package kept is the format of a job's saved state in the bucket of states: the header that the store puts before the
// core's own fields, and the digest that reveals damage.
//
// A digest reveals states that were truncated, corrupted or edited by hand. It does not protect against forgery.
package kept
