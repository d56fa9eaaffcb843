package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Role is the kind of an identity on the bus.
type Role string

// The roles of identities.
const (
	Admin     Role = "admin"     // May do everything, on all streams; makes and removes them.
	Scheduler Role = "scheduler" // The service scheduler.
	Planner   Role = "planner"   // The service planner.
	Gateway   Role = "gateway"   // The service gateway; it speaks for the users of its tokens.
	Runner    Role = "runner"    // Takes the work of its pools, reports on it, announces experts of these pools.
	Client    Role = "client"    // A person or a program that submits jobs. Its rights say which verbs it may use.
	Viewer    Role = "viewer"    // May only read.
)

// Roles lists the roles, those of the engine first.
func Roles() []Role { return []Role{Admin, Scheduler, Planner, Gateway, Runner, Client, Viewer} }

// Inside reports whether a role shares the account of the streams.
func (r Role) Inside() bool { return slices.Contains([]Role{Admin, Scheduler, Planner, Gateway}, r) }

// Identity is a person or program with a key.
type Identity struct {
	// Name is unique in its tenant; the inbox and the account are named after it.
	Name string `json:"name"`
	Role Role   `json:"role"`
	// Key is the public nkey of a user.
	Key string `json:"key"`
	// Pools are the pools whose work a runner takes.
	Pools []string `json:"pools,omitempty"`
	// User is the user for whom a client acts, and Rights are the user's roles in the sense of package verb.
	User   string      `json:"user,omitempty"`
	Rights []verb.Role `json:"rights,omitempty"`
}

// Inbox returns the prefix of reply subjects; no other identity may read them.
func (i *Identity) Inbox() string { return "_INBOX_" + i.Name }

// Check returns what makes an identity unusable, as an *events.Fault.
func (i *Identity) Check() error {
	fault := func(field, message, hint string) error {
		return &events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint}
	}
	switch {
	case !events.ValidID(i.Name):
		return fault("name", fmt.Sprintf("%.80q is no name", i.Name), "use 1 to 64 of A-Z a-z 0-9 _ -")
	case !slices.Contains(Roles(), i.Role):
		return fault("role", fmt.Sprintf("%s has the unknown role %.40q", i.Name, i.Role), "use one of "+join(Roles()))
	case i.Role == Runner && len(i.Pools) == 0:
		return fault("pools", "runner "+i.Name+" has no pool", "name at least one, such as "+events.DefaultPool)
	case i.Key != "" && (len(i.Key) != 56 || !strings.HasPrefix(i.Key, "U")):
		return fault("key", "the key of "+i.Name+" is not the public nkey of a user", "make one with `jobgraph init --secure`")
	}
	for _, pool := range i.Pools {
		if !events.ValidID(pool) {
			return fault("pools", fmt.Sprintf("%.80q is no pool", pool), "use 1 to 64 of A-Z a-z 0-9 _ -")
		}
	}
	for _, right := range i.Rights {
		if !slices.Contains(verb.Roles(), right) {
			return fault("rights", fmt.Sprintf("%s has the unknown right %.40q", i.Name, right), "use some of "+join(verb.Roles()))
		}
	}
	return nil
}

func join[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}

// rights returns the roles, in the sense of package verb, that an identity has.
func (i *Identity) rights() []verb.Role {
	switch {
	case i.Role == Admin || i.Role == Gateway:
		return []verb.Role{verb.Admin}
	case i.Role == Viewer:
		return []verb.Role{verb.Viewer}
	case i.Role == Client && len(i.Rights) == 0:
		return []verb.Role{verb.Submitter}
	case i.Role == Client:
		return i.Rights
	}
	return nil
}
