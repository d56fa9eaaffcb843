// Package reconcile finds out whether an effect with an unknown outcome took place: it asks a hook, which is a program, a service
// over HTTP or a responder on a subject of the bus.
//
// A hook is an expert like any other, with the effect as its input, so everything that bounds experts bounds hooks. It is asked
// each time that an outcome is unknown, and is never journaled; its answer is. The package keeps no state.
package reconcile
