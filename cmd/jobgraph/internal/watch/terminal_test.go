package watch_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/screentest"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// steps returns a plan of n SubJobs, a third of which depend on others, with titles that are longer than any row and contain wide
// characters.
func steps(n int) *events.Plan {
	plan := &events.Plan{Title: "测试 of a job whose title is longer than the row of a terminal that stands upright"}
	for i := range n {
		s := events.SubJob{ID: fmt.Sprintf("step-%d", i), Title: fmt.Sprintf("第%d步 reads e\u0301tudes, one after the other, to the end", i), Goal: "go", Expert: "a-patient-reader"}
		if i%3 == 2 {
			s.Dependencies = []string{fmt.Sprintf("step-%d", i-1)}
		}
		plan.SubJobs = append(plan.SubJobs, s)
	}
	return plan
}

// recorded returns the events of a job that has run, in which every tenth step fails once.
func recorded(t *testing.T, n int) []events.Event {
	t.Helper()
	failed := map[string]bool{}
	result := musttest.Get(jobtest.Script{Plan: steps(n), Default: func(w events.Work) events.SubJobReported {
		if strings.HasSuffix(w.SubJob, "0") && !failed[w.SubJob] {
			failed[w.SubJob] = true
			return jobtest.Fail("the shelf was empty, and the librarian had gone home for the day")
		}
		return jobtest.Succeed("read")
	}}.Run())(t)
	var list []events.Event
	for _, e := range result.Events {
		list = append(list, e)
		if e.Kind != events.KindGraphCreated {
			continue
		}
		for i := 1; i < n; i += 3 { // SubJobs without predecessors begin at once.
			list = append(list, events.Event{Kind: events.KindSubJobStarted, Job: e.Job, SubJob: fmt.Sprintf("step-%d", i), Run: 1, Data: &events.SubJobStarted{}})
		}
	}
	for i := range list {
		list[i].Seq = uint64(i + 1)
	}
	return list
}

// On every terminal and for every job, each line of the tree takes one row, the tree is no taller than the screen, each redraw
// covers the previous one exactly, and running SubJobs come before waiting ones.
func TestTheTreeFitsTheTerminal(t *testing.T) {
	for _, n := range []int{5, 50, 2000} {
		list := recorded(t, n)
		for _, width := range []int{40, 80, 120} {
			t.Run(fmt.Sprintf("%d steps, %d columns", n, width), func(t *testing.T) {
				screen := screentest.Open(t, width, 24)
				frames, running := 0, 0
				screen.Frame = func(rows []string) {
					if frames++; !strings.Contains(rows[0], "RUNNING") || t.Failed() {
						return
					}
					running += order(t, rows)
				}
				screen.Listen()
				var final []string
				synctest.Test(t, func(t *testing.T) {
					pause := 3 * time.Second / time.Duration(len(list))
					log := func(ctx context.Context) iter.Seq2[events.Event, error] {
						return func(yield func(events.Event, error) bool) {
							for _, e := range list {
								<-time.After(pause)
								e.Time = time.Now()
								if !yield(e, nil) || ctx.Err() != nil {
									return
								}
							}
						}
					}
					h := joblog.New()
					size := func() (int, int, bool) { return width, 24, true }
					s := watch.Show{Out: screen.TTY, Form: watch.Tree, Size: size, Paint: true, Now: time.Now}
					musttest.Do(t, s.Follow(t.Context(), log, h, func() bool { return false }))
					final = output.Tree{Now: time.Now(), Width: width - 1, Height: 100}.Lines(h.Job.View())
				})
				musttest.Do(t, screen.Close())
				if len(screen.Faults) > 0 {
					t.Errorf("on the terminal:\n%s", strings.Join(screen.Faults, "\n"))
				}
				if frames < 5 || running == 0 {
					t.Errorf("%d pictures, %d rows of what runs", frames, running)
				}
				if diff := cmp.Diff(final, screen.Text()); diff != "" {
					t.Errorf("left on the terminal (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// order counts the running SubJobs, and fails the test if one that has not begun stands before them while not all fit.
func order(t *testing.T, rows []string) (running int) {
	waits, some := "", strings.Contains(strings.Join(rows, "\n"), " more: ")
	for _, row := range rows[1:] {
		switch mark, _, _ := strings.Cut(strings.TrimSpace(row), " "); mark {
		case drawing.Mark(string(events.Running)):
			running++
			if some && waits != "" {
				t.Errorf("%q stands behind %q:\n%s", row, waits, strings.Join(rows, "\n"))
				return running
			}
		case drawing.Mark(string(events.Ready)), drawing.Mark(string(events.Created)), drawing.Mark(string(events.Waiting)):
			waits = row
		}
	}
	return running
}

// A terminal that becomes narrower wraps the rows on it; the next redraw still replaces them.
func TestATerminalMayBecomeNarrower(t *testing.T) {
	var out strings.Builder
	list := recorded(t, 5)
	synctest.Test(t, func(t *testing.T) {
		begin, narrow := time.Now(), false
		size := func() (int, int, bool) { // Called by the drawing goroutine before it draws.
			if time.Since(begin) < 2*time.Second {
				return 100, 24, true
			}
			if !narrow {
				narrow = true
				out.Reset()
			}
			return 40, 24, true
		}
		log := func(context.Context) iter.Seq2[events.Event, error] {
			return func(yield func(events.Event, error) bool) {
				for i, e := range list {
					if i == len(list)-1 {
						<-time.After(3 * time.Second)
					}
					if !yield(e, nil) {
						return
					}
				}
			}
		}
		s := watch.Show{Out: &out, Form: watch.Tree, Size: size, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		musttest.Do(t, s.Follow(t.Context(), log, joblog.New(), func() bool { return false }))
	})
	up := 0
	if _, err := fmt.Sscanf(out.String(), "\x1b[%dA", &up); err != nil || up < 8 {
		t.Errorf("%d rows up in %q: six lines of up to 99 columns take more", up, out.String()[:min(200, out.Len())])
	}
}
