package process_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
)

// However much was written, and in whichever pieces: where the tail was cut, no part of a secret is left.
func TestATailIsCutWhereNoSecretIs(t *testing.T) {
	const secret = "a-secret-of-the-program-0123456789"
	for size := 1; size < 60; size++ {
		for _, before := range []int{0, 5, 17, 40, 1000} {
			tail := process.Tail{Limit: 20, Redactor: redact.New(secret)}
			text := strings.Repeat("x", before) + strings.Repeat(secret, 3) + strings.Repeat("y", size%23)
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				musttest.Get(tail.Write([]byte(rest[:min(size, len(rest))])))(t)
			}
			got := tail.Text()
			if strings.Trim(got, "xy*") != "" || len(got) > 20 || size%23 < 8 && !strings.Contains(got, redact.Mask) {
				t.Fatalf("by %d behind %d: %q", size, before, got)
			}
			if again := tail.Text(); again != got {
				t.Fatalf("read twice: %q, then %q", got, again)
			}
		}
	}
}

func TestATailGivesWhatOnlyBeganLikeASecret(t *testing.T) {
	tail := process.Tail{Limit: 20, Redactor: redact.New("a-secret-of-the-program")}
	_, _ = tail.Write([]byte("it is a-sec")) // It never fails.
	if got := tail.Text(); got != "it is a-sec" {
		t.Errorf("%q", got)
	}
	_, _ = tail.Write([]byte("ret-of-the-program!"))
	if got := tail.Text(); got != "it is ********!" {
		t.Errorf("%q", got)
	}
}
