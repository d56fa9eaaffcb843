package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// A person who answers retry about a program that had ended, or that is alive, would cause the repetition.
func TestAnAnswerFollowsTheMarks(t *testing.T) {
	now := time.Now().UnixNano()
	for _, c := range []struct {
		name, marks string
		known       bool
		choices     []string
	}{
		{"dead", "begin j s 1 10 1000\n", true, []string{run.Retry, run.Success}},
		{"ended", "begin j s 1 10 1000\nend j s 1 10 2000\n", true, []string{run.Success}},
		{"alive", fmt.Sprintf("begin j s 1 10 1000\nalive j s 1 10 %d\n", now+int64(time.Hour)), false, nil},
	} {
		path := filepath.Join(t.TempDir(), "marks")
		musttest.Do(t, os.WriteFile(path, []byte(c.marks), 0o600))
		l := newLoad(nil, rand.New(rand.NewPCG(1, 1)), path, false)
		said := map[string]bool{}
		for range 30 {
			choice, known := l.decide("j", "s")
			if known != c.known {
				t.Fatalf("%s: known %v", c.name, known)
			}
			if known {
				said[choice] = true
			}
		}
		if len(said) != len(c.choices) {
			t.Errorf("%s: said %v, want each of %v", c.name, said, c.choices)
		}
	}
}
