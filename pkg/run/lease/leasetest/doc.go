// Package leasetest provides the journal of a SubJob in memory, over a bus that can be away, for tests of code that claims runs.
package leasetest
