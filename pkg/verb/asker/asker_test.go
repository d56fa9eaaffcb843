package asker_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// signature is what is found of one.
type signature struct {
	who   *seal.Signer
	asked bool
	err   error
}

func (s signature) Signer(context.Context) (*seal.Signer, bool, error) { return s.who, s.asked, s.err }

// answered returns the body that reaches the verb and the signer that it sees, or why the request is refused.
func answered(t *testing.T, name string, s signature, body string) (got string, who *seal.Signer, code events.Code) {
	t.Helper()
	checked := asker.Checked(name, s, func(ctx context.Context, body []byte) (string, error) {
		who = asker.Of(ctx)
		return string(body), nil
	})
	got, err := checked(t.Context(), []byte(body))
	var fault *events.Fault
	if err != nil && !errors.As(err, &fault) {
		t.Fatal(err)
	}
	if fault != nil {
		code = fault.Code
	}
	return got, who, code
}

func TestAKeyUsesWhatItsRightsPermit(t *testing.T) {
	refused := 0
	for _, v := range verb.All() {
		for _, right := range append(verb.Roles(), "") {
			who := &seal.Signer{Name: "ann's key", Users: []string{"ann"}, Rights: []string{string(right)}}
			want := events.Code("")
			if v.Effect != verb.Read && !v.Permits([]verb.Role{right}) && (!v.Own || right != verb.Submitter) {
				want = events.CodeNotPermitted
				refused++
			}
			if _, _, got := answered(t, v.Name, signature{who, true, nil}, `{}`); got != want {
				t.Errorf("%s with the right %q: %q, want %q", v.Name, right, got, want)
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d verbs and rights are refused", refused)
	}
}

// A verb that is missing in the table is open to no one by mistake.
func TestAVerbThatIsNotInTheTableIsForAdminsAlone(t *testing.T) {
	for _, right := range verb.Roles() {
		want := map[bool]events.Code{false: events.CodeNotPermitted}[right == verb.Admin]
		if _, _, got := answered(t, "ghost", signature{&seal.Signer{Name: "ann's key", Rights: []string{string(right)}}, true, nil}, `{}`); got != want {
			t.Errorf("with the right %s: %q, want %q", right, got, want)
		}
	}
}

func TestARequestIsInTheNameOfItsKey(t *testing.T) {
	ann := &seal.Signer{Name: "ann's key", Users: []string{"ann", "annie"}, Rights: []string{string(verb.Operator)}}
	gateway := &seal.Signer{Name: "gateway", Users: []string{seal.Any}, Rights: []string{string(verb.Operator)}}
	runner := &seal.Signer{Name: "a runner", Rights: []string{string(verb.Operator)}}
	broken := &events.Fault{Code: events.CodeNotPermitted, Message: "another has signed"}
	for _, c := range []struct {
		name, verb string
		s          signature
		body, want string
		code       events.Code
	}{
		{"no list of signers", "stop", signature{nil, false, nil}, `{"by":"boss"}`, `{"by":"boss"}`, ""},
		{"a false signature", "stop", signature{nil, true, broken}, `{}`, "", events.CodeNotPermitted},
		{"a false signature of who reads", "get", signature{nil, true, broken}, `{}`, `{}`, ""},
		{"no name", "stop", signature{ann, true, nil}, `{"id":"j"}`, `{"by":"ann","id":"j"}`, ""},
		{"an id alone", "stop", signature{ann, true, nil}, " j\n", `{"by":"ann","id":"j"}`, ""},
		{"nothing", "stop", signature{ann, true, nil}, "", `{"by":"ann"}`, ""},
		{"blanks", "stop", signature{ann, true, nil}, " \n", `{"by":"ann"}`, ""},
		{"another of its names", "stop", signature{ann, true, nil}, `{"by":"annie"}`, `{"by":"annie"}`, ""},
		{"the name of another", "stop", signature{ann, true, nil}, `{"by":"boss"}`, "", events.CodeNotPermitted},
		{"in another spelling", "stop", signature{ann, true, nil}, `{"By":"boss"}`, "", events.CodeNotPermitted},
		{"no text", "stop", signature{ann, true, nil}, `{"by":{"a":1}}`, "", events.CodeNotPermitted},
		{"its own in another spelling", "stop", signature{ann, true, nil}, `{"BY":"annie"}`, `{"by":"annie"}`, ""},
		{"one of two fields", "sessions.stop", signature{ann, true, nil}, `{"user":"ann","by":"boss"}`, "", events.CodeNotPermitted},
		{"both fields", "sessions.stop", signature{ann, true, nil}, `{}`, `{"by":"ann","user":"ann"}`, ""},
		{"every name", "stop", signature{gateway, true, nil}, `{"by":"boss"}`, `{"by":"boss"}`, ""},
		{"no one's name", "stop", signature{runner, true, nil}, `{}`, `{}`, ""},
		{"not even its own name", "stop", signature{runner, true, nil}, `{"by":"a runner"}`, "", events.CodeNotPermitted},
		{"no JSON", "stop", signature{ann, true, nil}, `{`, "", events.CodeMalformed},
		{"another name before something else", "stop", signature{ann, true, nil}, `{"by":"boss"} x`, "", events.CodeMalformed},
		{"two objects", "stop", signature{ann, true, nil}, `{"by":"boss"}{"by":"ann"}`, "", events.CodeMalformed},
		{"two spellings", "stop", signature{gateway, true, nil}, `{"by":"ann","BY":"boss"}`, "", events.CodeMalformed},
		{"two spellings with another letter", "sessions.stop", signature{gateway, true, nil}, `{"user":"ann","uſer":"boss"}`, "", events.CodeMalformed},
		{"no object", "stop", signature{ann, true, nil}, `[{"by":"boss"}]`, "", events.CodeMalformed},
		{"an id that is JSON, too", "stop", signature{ann, true, nil}, `null`, `{"by":"ann","id":"null"}`, ""},
	} {
		got, who, code := answered(t, c.verb, c.s, c.body)
		if got != c.want || code != c.code {
			t.Errorf("%s: %s, %q, want %s, %q", c.name, got, code, c.want, c.code)
		}
		if seen := code == "" && c.verb != "get"; seen && who != c.s.who {
			t.Errorf("%s: the verb sees %+v", c.name, who)
		}
	}
}

func TestSomeoneWithoutASignatureHasNoRight(t *testing.T) {
	stranger := asker.Stranger()
	if len(asker.Rights(stranger)) > 0 {
		t.Errorf("%+v", stranger)
	}
	if user, err := stranger.Named("boss"); err == nil {
		t.Errorf("a stranger asks in the name of %q", user)
	}
}

// Where no signature is required, a request that the gateway has sent for a user has the rights of the user.
func TestARequestWithoutASignatureHasTheRightsThatItWasLeft(t *testing.T) {
	for _, right := range verb.Roles() {
		m := events.Message{Header: map[string][]string{}}
		seal.Narrow(m.Header, []string{string(right)})
		who := seal.Anyone(&m)
		if got := asker.Rights(who); !slices.Equal(got, []verb.Role{right}) {
			t.Errorf("left %s: %v", right, got)
		}
		if user, err := who.Named("boss"); user != "boss" || err != nil {
			t.Errorf("left %s, it asks as %q: %v", right, user, err)
		}
	}
}
