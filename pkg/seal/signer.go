package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Any stands for every user or every kind of fact.
const Any = "*"

// Signer is a public key and what it may sign.
type Signer struct {
	// Name is the identity that owns the key.
	Name string `json:"name"`
	// Key is the public nkey.
	Key string `json:"key"`
	// Users are the users in whose name it may ask; Any is every user. Without users it may ask only in no one's name.
	Users []string `json:"users,omitempty"`
	// Rights are the roles, in the sense of package verb, that count for its requests.
	Rights []string `json:"rights,omitempty"`
	// Facts are the kinds of facts that it may write; Any is every kind.
	Facts []events.Kind `json:"facts,omitempty"`
	// Until is the time from which the key may not sign any more; what it signed before counts.
	Until *time.Time `json:"until,omitempty"`
}

// Role returns the role, in the sense of package access, of the identity behind a key: a list of signers does not name it, but what a key
// may sign differs from role to role. Only scheduler and admin may sign the same; the scheduler is the one of that name.
func (s *Signer) Role() string {
	switch {
	case slices.Contains(s.Facts, Any) && s.Name == "scheduler":
		return "scheduler"
	case slices.Contains(s.Facts, Any):
		return "admin"
	case len(s.Facts) > 0:
		return "planner"
	case slices.Contains(s.Users, Any):
		return "gateway"
	case len(s.Rights) > 0:
		return "client"
	}
	return "runner"
}

// Signers are the keys whose signatures count.
type Signers struct {
	// Since is the time from which facts need a signature: the beginning of a log may be older than the list.
	Since time.Time `json:"since"`
	// Journals is the time since which runners may write to journals only on the subjects of their pools, so that work has to name
	// those subjects; zero if they may write everywhere.
	Journals time.Time `json:"journals,omitzero"`
	// Signers are the keys with what each may sign.
	Signers []Signer `json:"signers"`
}

// Load reads a list. Errors: *events.Fault for one that cannot be used.
func Load(text []byte) (*Signers, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := &Signers{}
	err := d.Decode(s)
	if err != nil && strings.HasPrefix(err.Error(), "json: unknown field ") { // What it grants might be less than it says.
		return nil, &events.Fault{
			Code: events.CodeInvalid, Field: "signers", Message: "the list of signers is of a newer release than this program", Cause: err.Error(),
			Hint: "upgrade this program, or make the list with `jobgraph init --secure DIR` of the older release",
		}
	}
	if err != nil {
		return nil, &events.Fault{Code: events.CodeMalformed, Field: "signers", Message: "the list of signers cannot be read", Cause: err.Error(), Hint: "make it with `jobgraph init --secure DIR`"}
	}
	return s, nil
}

// Named returns the user in whose name a request is made: the one that it names, or none. Errors: *events.Fault if the signer may
// not ask in that name.
func (s *Signer) Named(user string) (string, error) {
	switch {
	case slices.Contains(s.Users, Any):
		return user, nil
	case user == "" && len(s.Users) > 0:
		return s.Users[0], nil
	case user == "" || slices.Contains(s.Users, user):
		return user, nil
	}
	return "", &events.Fault{
		Code: events.CodeNotPermitted, Field: "user", Message: fmt.Sprintf("the key of %s may not ask in the name of %.80q", s.Name, user), Hint: "use the key of that user, or leave the user out",
	}
}

// Of returns the signer of a message that was stored, or arrived, at a time, with the rights that Narrow has left it. Errors: *events.Fault if no signature counts, joined
// with ErrNone if there is none.
func (s *Signers) Of(m *events.Message, at time.Time) (*Signer, error) {
	o, err := open(m)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.Signers, func(have Signer) bool { return have.Key == o.key })
	switch {
	case i < 0:
		return nil, unsealed(m, "no signer has the key "+o.key, "add it with `jobgraph init --secure`, and give the new list to the services")
	case s.Signers[i].Until != nil && !at.Before(*s.Signers[i].Until):
		return nil, unsealed(m, "the key of "+s.Signers[i].Name+" was withdrawn", "use the new key")
	case at.Sub(o.at).Abs() > Slack:
		return nil, unsealed(m, fmt.Sprintf("it was signed at %s and came at %s", o.at.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339)), "set the clock")
	}
	return s.Signers[i].limited(m), nil
}

// Demands reports whether an event counts only with a seal: answers to requests for input, and events on a control subject.
func Demands(e *events.Event) bool { return e.Control || e.Kind == events.KindInputClosed }

// Fact says why a fact that was stored at a time does not count; nil if it does.
func (s *Signers) Fact(m *events.Message, kind events.Kind, at time.Time) *events.Fault {
	if at.Before(s.Since) {
		return nil
	}
	who, err := s.Of(m, at)
	if fault := (*events.Fault)(nil); errors.As(err, &fault) {
		return fault
	}
	if !slices.Contains(who.Facts, kind) && !slices.Contains(who.Facts, Any) {
		return unsealed(m, who.Name+" may not sign it", "ask by a verb: the scheduler signs what it has checked")
	}
	return nil
}
