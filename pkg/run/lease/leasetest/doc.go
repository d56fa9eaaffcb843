// Package leasetest has the journal of a SubJob in memory, over a bus that can be away, for tests of what claims runs.
package leasetest
