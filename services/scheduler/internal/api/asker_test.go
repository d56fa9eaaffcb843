package api

import (
	"errors"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/seal"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
)

// An answer that permits an action, or says what became of one, needs an approver.
func TestWhoAnswersWhichQuestions(t *testing.T) {
	for _, c := range []struct {
		who  *seal.Signer
		may  bool // It may answer every question.
		name string
	}{
		{nil, true, "signatures are not required"},
		{&seal.Signer{Rights: []string{string(verb.Approver)}}, true, "an approver"},
		{&seal.Signer{Rights: []string{string(verb.Admin)}}, true, "an admin"},
		{&seal.Signer{Rights: []string{string(verb.Submitter), string(verb.Operator)}}, false, "others"},
		{asker.Stranger(), false, "a stranger"},
	} {
		for kind, harmless := range map[events.InputKind]bool{
			events.InputClarification: true, events.InputForm: true, events.InputApproval: false, events.InputUnknown: false,
		} {
			if err := mayApprove(asker.With(t.Context(), c.who), kind); (err == nil) != (c.may || harmless) {
				t.Errorf("%s, %s: %v", c.name, kind, err)
			}
		}
	}
}

// A request is one JSON object with known fields, and nothing behind it; an id alone stands for an object with it.
func TestARequestIsOneObject(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"j"}`: "j", " j\n": "j", "{\"id\":\"j\"} \n": "j", `{"id":"j"} x`: "", `{"id":"j"}{}`: "", `{"id":"j"}{"id":"k"}`: "", `{"id":"j","more":1}`: "", `[]`: "", ``: "",
	} {
		var r verb.Ref
		err := decode([]byte(body), &r)
		var fault *events.Fault
		if (err == nil) != (want != "") || err == nil && r.ID != want || err != nil && (!errors.As(err, &fault) || fault.Code != events.CodeMalformed) {
			t.Errorf("%s: %q, %v", body, r.ID, err)
		}
	}
}
