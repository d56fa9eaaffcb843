package goldentest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/goldentest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// noted counts failures in the place of a test.
type noted struct {
	testing.TB
	failures int
}

func (n *noted) Errorf(string, ...any) { n.failures++ }

func TestOnlyAnotherTextFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "golden")
	musttest.Do(t, os.WriteFile(file, []byte("a\n"), 0o600))
	for got, want := range map[string]int{"a\n": 0, "a": 1} {
		n := &noted{TB: t}
		if goldentest.Same(n, file, got); n.failures != want {
			t.Errorf("%q: %d failures, want %d", got, n.failures, want)
		}
	}
}
