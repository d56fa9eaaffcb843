package intake

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/seal"
)

// sent is a request with its origin, and who has signed it.
type sent struct {
	origin Origin
	who    *seal.Signer
	body   string
}

func (s sent) id() string { return s.origin.of(s.who).id([]byte(s.body)) }

// A request without an id is one job however often it is sent: its id depends on what its sender has chosen, and where signatures count on
// what the sender has signed.
func TestTheIDOfARequestDependsOnItsOriginAlone(t *testing.T) {
	boss, eve, nameless := &seal.Signer{Key: "K"}, &seal.Signer{Key: "L"}, &seal.Signer{Name: "a user of the gateway"}
	const by = "v1 K 5"
	for name, c := range map[string]struct {
		a, b sent
		same bool
	}{
		"signed, elsewhere in the queue":         {sent{Origin{Stream: "q", Seq: 1, Seal: by}, boss, "x"}, sent{Origin{Stream: "p", Seq: 2, Seal: by}, boss, "x"}, true},
		"signed, with a message id":              {sent{Origin{Stream: "q", Seq: 1, Seal: by}, boss, "x"}, sent{Origin{Stream: "q", Seq: 2, Seal: by, MsgID: "m"}, boss, "x"}, true},
		"signed, with a source":                  {sent{Origin{Stream: "q", Seq: 1, Seal: by}, boss, "x"}, sent{Origin{Stream: "q", Seq: 2, Seal: by, Source: "s"}, boss, "x"}, true},
		"signed as an event, from elsewhere":     {sent{Origin{Seal: by, EventID: "e", Source: "s"}, boss, "x"}, sent{Origin{Seal: by, EventID: "e", Source: "t", MsgID: "m"}, boss, "x"}, true},
		"signed as an event, again":              {sent{Origin{Seal: by, EventID: "e"}, boss, "x"}, sent{Origin{Seal: "v1 K 6", EventID: "e"}, boss, "x"}, true},
		"signed as an event, by another":         {sent{Origin{Seal: by, EventID: "e"}, boss, "x"}, sent{Origin{Seal: "v1 L 5", EventID: "e"}, eve, "x"}, false},
		"signed as another event":                {sent{Origin{Seal: by, EventID: "e"}, boss, "x"}, sent{Origin{Seal: by, EventID: "f"}, boss, "x"}, false},
		"signed at another time":                 {sent{Origin{Seal: by}, boss, "x"}, sent{Origin{Seal: "v1 K 6"}, boss, "x"}, false},
		"another request, signed at that time":   {sent{Origin{Seal: by}, boss, "x"}, sent{Origin{Seal: by}, boss, "y"}, false},
		"no signature required":                  {sent{Origin{Stream: "q", Seq: 1, Seal: by}, nil, "x"}, sent{Origin{Stream: "q", Seq: 2, Seal: by}, nil, "x"}, false},
		"for a user, no signature required":      {sent{Origin{Stream: "q", Seq: 1, Seal: by}, nameless, "x"}, sent{Origin{Stream: "q", Seq: 2, Seal: by}, nameless, "x"}, false},
		"no signature required, by message id":   {sent{Origin{Stream: "q", Seal: by, MsgID: "m"}, nil, "x"}, sent{Origin{Stream: "q", Seal: "v1 K 6", MsgID: "m"}, nil, "y"}, true},
		"the message id of another queue":        {sent{Origin{Stream: "q", MsgID: "m"}, nil, "x"}, sent{Origin{Stream: "p", MsgID: "m"}, nil, "x"}, false},
		"the message id of a source":             {sent{Origin{Stream: "q", Source: "s", MsgID: "m"}, nil, "x"}, sent{Origin{Stream: "p", Source: "s", MsgID: "m"}, nil, "x"}, true},
		"a source and an id of the same letters": {sent{Origin{Source: "ab", MsgID: "c"}, nil, "x"}, sent{Origin{Source: "a", MsgID: "bc"}, nil, "x"}, false},
		"a message id and the same as event":     {sent{Origin{Source: "s", MsgID: "m"}, nil, "x"}, sent{Origin{Source: "s", EventID: "m"}, nil, "x"}, false},
		"asked for twice":                        {sent{Origin{Nonce: "n"}, nil, "x"}, sent{Origin{Nonce: "o"}, nil, "x"}, false},
		"two requests asked for":                 {sent{Origin{Nonce: "n"}, nil, "x"}, sent{Origin{Nonce: "n"}, nil, "y"}, false},
	} {
		if (c.a.id() == c.b.id()) != c.same {
			t.Errorf("%s: %s and %s", name, c.a.id(), c.b.id())
		}
	}
}

// An event in structured mode brings its origin along, unless headers say something else.
func TestHeadersTakePrecedenceOverAnEnvelope(t *testing.T) {
	const body = `{"specversion":"1.0","type":"t","id":"e","source":"s","traceparent":"t","data":{"goal":"g"}}`
	for _, c := range []struct{ headers, want Origin }{
		{Origin{}, Origin{Source: "s", EventID: "e", Trace: "t"}},
		{Origin{Source: "h"}, Origin{Source: "h", EventID: "e", Trace: "t"}},
		{Origin{EventID: "h"}, Origin{EventID: "h", Trace: "t"}},
		{Origin{Source: "h", EventID: "i", Trace: "j"}, Origin{Source: "h", EventID: "i", Trace: "j"}},
	} {
		if inner, got := unwrapped([]byte(body), c.headers); got != c.want || string(inner) != `{"goal":"g"}` {
			t.Errorf("%+v: %s of %+v, want %+v", c.headers, inner, got, c.want)
		}
	}
}
