package watch_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// shown returns the last tree of a job with one SubJob that has made n files.
func shown(t *testing.T, files int) []string {
	t.Helper()
	result := musttest.Get(jobtest.Script{
		Plan: &events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "make files", Expert: "maker"}}},
		Default: func(events.Work) events.SubJobReported {
			r := jobtest.Succeed("done")
			for i := range files {
				r.Artifacts = append(r.Artifacts, events.Ref{Name: fmt.Sprintf("%d.md", i+1), Size: 2048, Digest: strings.Repeat("0", 64), MediaType: "text/markdown"})
			}
			return r
		},
	}.Run())(t)
	log := func(context.Context) iter.Seq2[events.Event, error] {
		return func(yield func(events.Event, error) bool) {
			for e := range slices.Values(result.Events) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	var out strings.Builder
	size := func() (int, int, bool) { return 80, 10, true }
	show := watch.Show{Out: &out, Form: watch.Tree, Size: size, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
	musttest.Do(t, show.Follow(t.Context(), log, joblog.New(), func() bool { return false }))
	pictures := strings.Split(strings.TrimSuffix(out.String(), "\x1b[J"), "\x1b[J")
	return strings.Split(strings.TrimRight(strings.ReplaceAll(pictures[len(pictures)-1], "\x1b[K", ""), "\n"), "\n")
}

func TestATreeEndsWithTheFilesOfTheJob(t *testing.T) {
	lines := shown(t, 2)
	if n := len(lines); n != 4 || lines[2] != "  artifact  a/1.md  2.0 KiB  000000000000  text/markdown" || !strings.Contains(lines[3], "a/2.md") {
		t.Errorf("shown:\n%s", strings.Join(lines, "\n"))
	}
	lines = shown(t, 30)
	if n := len(lines); n != 22 || lines[2] != "  … 11 more artifacts" || !strings.Contains(lines[3], "a/12.md") || !strings.Contains(lines[21], "a/30.md") {
		t.Errorf("shown:\n%s", strings.Join(lines, "\n"))
	}
	if lines = shown(t, 0); len(lines) != 2 {
		t.Errorf("shown:\n%s", strings.Join(lines, "\n"))
	}
}
