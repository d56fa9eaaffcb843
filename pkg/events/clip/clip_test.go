package clip_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

func TestATextIsCutAtTheEndOfACharacter(t *testing.T) {
	for _, test := range []struct {
		text        string
		most        int
		cut, marked string
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abc", 2, "ab", "ab…"},
		{"aü", 2, "a", "a…"},
		{"aü", 3, "aü", "aü"},
		{"日本", 4, "日", "日…"},
		{"日本", 2, "", "…"},
		{"日本", 0, "", "…"},
	} {
		if got := clip.Text(test.text, test.most); got != test.cut {
			t.Errorf("Text(%q, %d) = %q, want %q", test.text, test.most, got, test.cut)
		}
		if got := clip.Marked(test.text, test.most); got != test.marked {
			t.Errorf("Marked(%q, %d) = %q, want %q", test.text, test.most, got, test.marked)
		}
	}
}
