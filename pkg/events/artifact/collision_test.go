package artifact_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

func TestNamesCollideWhenOneIsAFolderOfTheOther(t *testing.T) {
	for _, c := range []struct {
		names          []string
		folder, within string
	}{
		{nil, "", ""},
		{[]string{"data", "data.csv", "more/data", "", "/"}, "", ""},
		{[]string{"data", "data"}, "", ""},
		{[]string{"data", "data/a.csv"}, "data", "data/a.csv"},
		{[]string{"x", "data/deep/a.csv", "data"}, "data", "data/deep/a.csv"},
		{[]string{"./data", "/x/../data//a.csv"}, "./data", "/x/../data//a.csv"},
	} {
		folder, within, found := artifact.Collision(c.names)
		if folder != c.folder || within != c.within || found != (c.folder != "") {
			t.Errorf("%q: %q %q %v", c.names, folder, within, found)
		}
	}
}
