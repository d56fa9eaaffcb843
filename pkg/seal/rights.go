package seal

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// narrowed begins the type of a request that counts with some rights only, which follow, separated by commas. It is the type because every
// release signs that: a program that passes the request on cannot take the rights out or add any, and a service of an earlier release,
// which does not read them, accepts the signature.
const narrowed = "io.jobgraph.request.v1; rights="

// admin is the right that includes all others, as in package verb.
const admin = "admin"

// Narrow has a request with this header count with at most some of the rights of its signer. It must be called before the request is signed.
func Narrow(header map[string][]string, rights []string) {
	header[events.HeaderType] = []string{narrowed + strings.Join(rights, ",")}
}

// left returns the rights that Narrow has left a request; ok is false if it has left all.
func left(m *events.Message) (rights []string, ok bool) {
	list, ok := strings.CutPrefix(m.Get(events.HeaderType), narrowed)
	return strings.Split(list, ","), ok
}

// limited returns the signer with the rights that its request has.
func (s *Signer) limited(m *events.Message) *Signer {
	rights, ok := left(m)
	if !ok {
		return s
	}
	who := *s
	who.Rights = slices.DeleteFunc(rights, func(right string) bool {
		return !slices.Contains(s.Rights, right) && !slices.Contains(s.Rights, admin) || right == ""
	})
	if slices.ContainsFunc(s.Rights, func(right string) bool { return !slices.Contains(who.Rights, right) }) {
		who.Name = "a user of " + s.Name
	}
	return &who
}

// Anyone returns who asks where signatures are not required: in every name, with the rights that Narrow has left the request; nil if it has
// left all.
func Anyone(m *events.Message) *Signer {
	if _, ok := left(m); !ok {
		return nil
	}
	return (&Signer{Name: "the gateway", Users: []string{Any}, Rights: []string{admin}}).limited(m)
}
