package run

import "strings"

// mark stands behind the seat in a name.
const mark = "~"

// Seated names an owner that has a seat: what one process at a time can have, such as the lock of a store. id makes the name unique.
func Seated(seat, id string) string { return seat + mark + id }

// Succeeds reports whether an owner has the seat that another one had: then the other's claims are dead, however long their leases.
func Succeeds(name, other string) bool {
	seat, _, seated := strings.Cut(name, mark)
	former, _, had := strings.Cut(other, mark)
	return seated && had && seat == former && name != other
}
