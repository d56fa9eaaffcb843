// Package reconcile finds out whether an effect with an unknown outcome took place: it asks a hook, which is a
// program, a service over HTTP or a responder on a subject of the bus.
//
// A hook is an expert like any other, with the effect as its input, so that everything that bounds experts bounds hooks. It is
// asked as often as there is a doubt, and journaled never: what it says is. The package keeps no state.
package reconcile
