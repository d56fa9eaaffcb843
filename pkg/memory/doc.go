// Package memory holds what experts remember of users: short facts per user and expert, which a person can read, change, delete and
// switch off. Every change is a compare-and-set, and a fact is added once per identity, so that a repeat after a crash changes
// nothing.
//
// It never decides what is worth remembering, and keeps nothing for anonymous jobs. The records in the bucket are its state.
package memory
