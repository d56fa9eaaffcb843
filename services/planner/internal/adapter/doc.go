// Package adapter fits the bus to the loop's ports, one file for each. It decides nothing and keeps no state beyond the
// subscription that it reads.
package adapter
