// Package incarnation tells a job from earlier ones with the same id, by the sequence of its request in the log. It has no state and reads no
// log.
package incarnation
