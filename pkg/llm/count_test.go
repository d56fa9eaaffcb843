package llm

import (
	"encoding/json"
	"testing"
)

// What providers write as a number of tokens never makes an answer unreadable.
func TestANumberOfTokensIsReadInEveryForm(t *testing.T) {
	for text, want := range map[string]count{
		`0`: 0, `25`: 25, `1000000000`: 1e9, `1000000001`: 0, `99999999999999999999999`: 0, `25.0`: 25, `25.9`: 25, `2.5e1`: 25, `-1`: 0, `-0`: 0,
		`null`: 0, `"25"`: 0, `{}`: 0, `[]`: 0, `true`: 0,
	} {
		var got count
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %d, %v", text, got, err)
		}
	}
}
