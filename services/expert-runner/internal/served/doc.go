// Package served gives agents tools that programs in any language serve on the bus: a subject that takes the arguments as JSON and
// answers, or a micro service whose endpoints describe themselves.
//
// It trusts no answer: each is bounded in time and size. It keeps no state but the configuration, journals nothing, and judges no
// call; the caller of the tools does.
package served
