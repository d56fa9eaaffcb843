package plainjson_test

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
)

// plainTexts are the seeds of the search; the value says whether the text is plain.
var plainTexts = map[string]bool{
	`{}`: true, `[]`: true, `""`: true, `0`: true, `17`: true, `null`: true, `true`: true, `false`: true, `"目标，"`: true,
	`{"a":{"b":[1,"x",{"c":[]}]},"d":0}`: true, "\"\x7f\"": true,
	``: false, `{`: false, `[1,]`: false, `[,1]`: false, `{"a"}`: false, `{"a":}`: false, `{"a":1,}`: false, `{a:1}`: false, `01`: false, `-1`: false,
	`1.5`: false, ` 1`: false, `1 `: false, `[1, 2]`: false, `"<"`: false, `"\n"`: false, "\"\n\"": false, "\"\u2028\"": false, "\"\xff\"": false,
	`truex`: false, `nul`: false, `[1}`: false, `{"a":1]`: false, `1 2`: false, `"a"b`: false,
}

// plainly fails the test if a text counts as plain although json.Marshal would write it differently.
func plainly(t *testing.T, text []byte) {
	t.Helper()
	if !plainjson.Plain(text) {
		return
	}
	written, err := json.Marshal(json.RawMessage(text))
	if err != nil || string(written) != string(text) {
		t.Fatalf("%q is no plain JSON: %q, %v", text, written, err)
	}
}

func TestPlainTextsAreThoseThatMarshalWritesWithoutEscapes(t *testing.T) {
	for text, want := range plainTexts {
		if got := plainjson.Plain([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
		plainly(t, []byte(text))
	}
}

func FuzzPlain(f *testing.F) {
	for text := range plainTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(plainly)
}
