package bases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Scope is who a base belongs to.
type Scope string

// The scopes of bases.
const (
	Global  Scope = "base"    // Read by every job whose card, request or profile names it.
	User    Scope = "user"    // Read by the jobs of one user.
	Session Scope = "session" // Read by the jobs of one session, and of those that it handed off.
)

// Base is a set of documents.
type Base struct {
	Scope Scope  `json:"scope"` // Scope says whom it belongs to.
	Name  string `json:"name"`  // Name is the name of a global base, the user, or the session.
}

// Reserved names, which stand for the bases of a job's user and sessions.
const (
	UserName    = string(User)
	SessionName = string(Session)
)

// MaxNames is how many bases a card, request or profile may name.
const MaxNames = 16

// maxOwner is the longest user or session, in bytes: that of a request, or the session of a SubJob that was handed off.
const maxOwner = 512

// Default returns what is read if nothing is named: the session's and the user's.
func Default() []string { return []string{SessionName, UserName} }

// Label returns the base as people and models see it: the name of a global one, "user" or "session" for the others.
func (b Base) Label() string {
	if b.Scope == Global {
		return b.Name
	}
	return string(b.Scope)
}

// String returns the base with its scope and name, for people.
func (b Base) String() string { return string(b.Scope) + " " + b.Name }

// Valid reports whether the base can exist: a global one has a name of [A-Za-z0-9_-]{1,64} other than the reserved ones.
func (b Base) Valid() bool {
	switch b.Scope {
	case Global:
		return events.ValidNewID(b.Name) && b.Name != UserName && b.Name != SessionName
	case User, Session:
		return strings.TrimSpace(b.Name) != "" && len(b.Name) <= maxOwner
	}
	return false
}

// Owner is the user and the sessions on whose behalf documents are read.
type Owner struct {
	// User is the job's user; empty for an anonymous job, which has no base of a user.
	User string
	// Sessions are the session of the run and, if it was handed off, that of the job. Empty ones are ignored.
	Sessions []string
}

// Of returns the bases that names stand for, each once and in the order of the names; nil names mean Default. Bases of a user or
// session that the owner does not have are left out.
func Of(names []string, owner Owner) []Base {
	if names == nil {
		names = Default()
	}
	var list []Base
	add := func(b Base) {
		if b.Name != "" && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	for _, name := range names {
		switch name {
		case UserName:
			add(Base{User, owner.User})
		case SessionName:
			for _, session := range owner.Sessions {
				add(Base{Session, session})
			}
		default:
			add(Base{Global, name})
		}
	}
	return list
}

// Faults lists what is wrong with names under a key.
func Faults(field string, names []string) events.Faults {
	var faults events.Faults
	if len(names) > MaxNames {
		faults = append(faults, events.Fault{Code: events.CodeTooLarge, Field: field, Message: fmt.Sprintf("%d bases, at most %d are read", len(names), MaxNames)})
	}
	for i, name := range names {
		switch {
		case slices.Contains(names[:i], name):
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf("base %.80q is named twice", name)})
		case name != UserName && name != SessionName && !(Base{Global, name}).Valid():
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf("%.80q is no name of a base", name),
				Hint: "use session, user, or the name of a base: 1 to 64 of A-Z a-z 0-9 _ -",
			})
		}
	}
	return faults
}
