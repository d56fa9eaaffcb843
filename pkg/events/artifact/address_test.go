package artifact_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

func TestAnAddressNamesOneFileWhateverItIsCalled(t *testing.T) {
	for _, name := range []string{"a.txt", "tables/a b (1).csv", "50% off?.md", "字.md", "a:b", "[x](y)"} {
		at := artifact.Address("s~1~t", name)
		if strings.ContainsAny(at, " ()[]<>\"") || !strings.HasPrefix(at, artifact.Scheme) {
			t.Errorf("%q would break a link", at)
		}
		subjob, got, ok := artifact.Split(at)
		if !ok || subjob != "s~1~t" || got != name {
			t.Errorf("%q is read as %q %q %v", at, subjob, got, ok)
		}
	}
	if subjob, name, ok := artifact.Split("s/x/y.txt"); !ok || subjob != "s" || name != "x/y.txt" {
		t.Errorf("without its scheme it is read as %q %q %v", subjob, name, ok)
	}
	for _, none := range []string{"", "artifact:", "artifact:s", "artifact:s/", "artifact:/x", "artifact:%zz/x"} {
		if _, _, ok := artifact.Split(none); ok {
			t.Errorf("%q was read", none)
		}
	}
}
