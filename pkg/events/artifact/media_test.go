package artifact_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events/artifact"
)

func TestTheTypeOfMarkdownDependsOnNoMachine(t *testing.T) {
	for name, want := range map[string]string{"out/page.md": "text/markdown; charset=utf-8", "A.MARKDOWN": "text/markdown; charset=utf-8", "md": "", "a.md.gz": "", "": ""} {
		if got := artifact.MediaType(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
