// Package adapter implements the loop's ports on the bus, one file per port. It decides nothing and has no state except its
// subscription.
package adapter
