package near_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/near"
)

func TestTheDistanceIsTheNumberOfChangedCharacters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "bc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if there, back := near.Distance(c.a, c.b), near.Distance(c.b, c.a); there != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, there, back, c.want)
		}
	}
}
