package run

import "strings"

// mark separates the seat from the rest of a name.
const mark = "~"

// Seated returns the name of an owner with a seat: something that only one process at a time can have, such as the lock of
// a store. id makes the name unique.
func Seated(seat, id string) string { return seat + mark + id }

// Succeeds reports whether an owner has the seat of another: then the other's claims are dead, however long their leases.
func Succeeds(name, other string) bool {
	seat, _, seated := strings.Cut(name, mark)
	former, _, had := strings.Cut(other, mark)
	return seated && had && seat == former && name != other
}
