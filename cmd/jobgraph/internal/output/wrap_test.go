package output_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
)

func TestTextForATerminalIsBrokenBetweenWordsButNeverInsideACommand(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short enough", "short enough"},
		{"there is no model to make one", "there is no model to\nmake one"},
		{"  → set the key of a provider", "  → set the key of a\n    provider"},
		{"a\n    - a point of many words", "a\n    - a point of\n    many words"},
		{"see `jobgraph plan template` for it", "see\n`jobgraph plan template`\nfor it"},
		{"a lone ` is only one of the signs", "a lone ` is only one\nof the signs"},
		{"/a/path/that/is/wider/than/that", "/a/path/that/is/wider/than/that"},
		{"two  spaces stay in the text they", "two  spaces stay in\nthe text they"},
		{"Wörter mit Umlauten wären breit", "Wörter mit Umlauten\nwären breit"},
	} {
		if got := output.Wrap(c.text, 20); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
		if got := output.Wrap(c.text, 0); got != c.text {
			t.Errorf("without a terminal: %q", got)
		}
	}
}
