package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Raw text between payload markers is the value of a field, even in a plan that a person supplies: in an object or a list, with
// quotes or without, whatever it contains.
// proves C14
func TestRawTextBetweenPayloadMarkersIsAValueOfAPlan(t *testing.T) {
	code := "def f(x):\n\treturn {\"a\": x} // no comment \\n"
	for name, raw := range map[string]string{
		"an object": `{"subtask_1":{"goal":"run","context":__PAYLOAD_START__` + code + `__PAYLOAD_END__,"completion_criteria":"c","dependencies":[],"assigned_expert":"Coder 2","thinking":"t"}}`,
		"quotes":    `{"subjobs":[{"id":"a","goal":"run","context": "__PAYLOAD_START__` + code + `__PAYLOAD_END__","expert":"coder"}]}`,
		"tags":      "So:\n<decomposition>\n" + `{"subtask_1":{"goal":"run","context":__PAYLOAD_START__` + code + `__PAYLOAD_END__,"completion_criteria":"c","dependencies":[],"assigned_expert":"Coder 2","thinking":"t",}}` + "\n</decomposition>",
	} {
		packed, err := json.Marshal(raw) // A request carries a plan that is not JSON in this form.
		if err != nil {
			t.Fatal(err)
		}
		if in := Check(packed, cards(), Options{Version: Version}); in.Plan == nil || in.Plan.SubJobs[0].Context != code {
			t.Errorf("%s in a request: %+v %v", name, in.Plan, in.Faults)
		}
		r := Check([]byte(raw), cards(), Options{Version: Version})
		if r.Plan == nil {
			t.Errorf("%s: %v", name, r.Faults)
			continue
		}
		if d := cmp.Diff(code, r.Plan.SubJobs[0].Context); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	list := Check([]byte(`{"title":"T","steps":[__PAYLOAD_START__say "hi"__PAYLOAD_END__,"see __PAYLOAD_START__ there"]}`), cards(), Options{Version: Version})
	if list.Plan == nil || list.Plan.SubJobs[0].Goal != `say "hi"` || list.Plan.SubJobs[1].Goal != "see __PAYLOAD_START__ there" {
		t.Errorf("%+v %v", list.Plan, list.Faults)
	}
	for _, open := range []string{`{"subjobs":[{"id":"a","goal":__PAYLOAD_START__x}]}`, `__PAYLOAD_START__x__PAYLOAD_END__`} {
		if r := Check([]byte(open), cards(), Options{Version: Version}); r.Plan != nil || len(r.Faults) == 0 {
			t.Errorf("%s: %+v", open, r.Plan)
		}
	}
}
