package bench

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/kaptinlin/jsonrepair"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient/mistake"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The best library for the purpose, on the same corpus. Only this test uses it.
//
// proves C14
// proves F5
func TestTheReaderOfModelTextReadsMoreThanTheBestLibrary(t *testing.T) {
	cases := musttest.Get(mistake.Cases())(t)
	var theirs, theirsWrong, ours, oursWrong int
	for _, c := range cases {
		if text, err := jsonrepair.Repair(c.Text); err == nil {
			if same(text, c.Want) {
				theirs++
			} else {
				theirsWrong++
			}
		}
		r, err := lenient.Examine(c.Text, lenient.Options{Fits: lenient.Object})
		switch {
		case err != nil || r.Trust == lenient.Guessed:
		case same(string(r.JSON), c.Want):
			ours++
		default:
			oursWrong++
		}
	}
	t.Logf("%d cases without a schema: ours %d right, %d wrong; jsonrepair %d right, %d wrong", len(cases), ours, oursWrong, theirs, theirsWrong)
	if ours < theirs || oursWrong > theirsWrong {
		t.Errorf("ours %d right, %d wrong; theirs %d right, %d wrong", ours, oursWrong, theirs, theirsWrong)
	}
}

// same reports whether two texts are the same JSON value.
func same(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
