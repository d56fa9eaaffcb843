// Package reconcile finds out what became of an effect of which nobody knows whether it took place: it asks a hook, which is a
// program, a service over HTTP or whoever answers on a subject of the bus.
//
// A hook is an expert like any other, with the effect as its input, so that everything that bounds experts bounds hooks. It is
// asked as often as there is a doubt, and journaled never: what it says is. The package keeps no state.
package reconcile
