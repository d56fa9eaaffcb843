package watch_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/screentest"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// answer is the last text of a job with one step.
const answer = "There are two files, and the second one is 世界.txt, which is longer than the row of a terminal that stands upright."

// chatter returns a job of n steps in a row, the last of which says and does something, and the live items between its events.
func chatter(t *testing.T, steps int) (list []events.Event, said []item.Item) {
	t.Helper()
	plan := &events.Plan{Title: "Look"}
	for n := range steps {
		s := events.SubJob{ID: fmt.Sprintf("s%d", n), Goal: "go", Expert: "reader"}
		if n > 0 {
			s.Dependencies = []string{fmt.Sprintf("s%d", n-1)}
		}
		plan.SubJobs = append(plan.SubJobs, s)
	}
	result := musttest.Get(jobtest.Script{Plan: plan, Default: func(events.Work) events.SubJobReported {
		r := jobtest.Succeed(answer)
		r.Tokens = 7
		return r
	}}.Run())(t)
	list = result.Events
	for n := range list {
		list[n].Seq = uint64(n + 1)
	}
	last := fmt.Sprintf("s%d", steps-1)
	say := func(i item.Item) {
		i.SubJob, i.Run, i.Expert = last, 1, "reader"
		said = append(said, i)
	}
	say(item.Item{Type: item.Thinking, ID: "thought/1", Text: "Let me "})
	say(item.Item{Type: item.Thinking, ID: "thought/1", Offset: 7, Text: "look.", Done: true})
	say(item.Item{Type: item.Tool, ID: "tool/1/0", Tool: "run", Args: `{"command":"ls -l","of":["a long list",` + strings.Repeat("1,", 60) + `2]}`})
	say(item.Item{Type: item.Log, ID: "tool/1/0/output", Text: strings.Repeat("one line\n", 10)})
	say(item.Item{Type: item.Tool, ID: "tool/1/0", Outcome: "ok", TookMS: 12, Bytes: 90, Done: true})
	say(item.Item{Type: item.Tool, ID: "tool/1/1", Tool: "edit", Args: `{"do":"undo"}`, Outcome: "denied", Done: true})
	text, at := "<deliverable>\n"+answer+"</deliverable>", 0
	for _, piece := range []int{5, 7, 20, 20, 30, 8, len(text) - 90} {
		say(item.Item{Type: item.Text, ID: "answer/2", Offset: at, Text: text[at : at+piece]})
		at += piece
	}
	say(item.Item{Type: item.Text, ID: "answer/2", Done: true})
	if steps > 1 {
		said = append([]item.Item{{Type: item.Text, SubJob: "s0", Run: 1, ID: "answer/1", Text: "nobody waits for this", Done: true}}, said...)
	}
	return list, said
}

// played shows a job and its live items on a terminal, and returns the screen and what was shown while the text was being written.
func played(t *testing.T, width int, form watch.Form, brief bool, list []events.Event, said []item.Item) (rows []string, open string, told bool) {
	t.Helper()
	screen := screentest.Open(t, width, 24)
	screen.Frame = func(rows []string) { open += strings.Join(rows, "\n") + "\n--\n" }
	screen.Listen()
	synctest.Test(t, func(t *testing.T) {
		items := make(chan item.Item)
		go func() { // Ends with the items.
			defer close(items)
			for n := range said {
				<-time.After(10 * time.Millisecond)
				items <- said[n]
			}
		}()
		log := func(ctx context.Context) iter.Seq2[events.Event, error] {
			return func(yield func(events.Event, error) bool) {
				for _, e := range list {
					if e.Kind == events.KindSubJobReported && e.SubJob == said[len(said)-1].SubJob {
						<-time.After(time.Second)
					}
					if !yield(e, nil) || ctx.Err() != nil {
						return
					}
				}
			}
		}
		h := joblog.New()
		talk := &watch.Talk{Items: items}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		s := watch.Show{
			Out: screen.TTY, Form: form, Size: func() (int, int, bool) { return width, 24, true }, Now: func() time.Time { return now }, Talk: talk, Brief: brief,
		}
		musttest.Do(t, s.Follow(t.Context(), log, h, func() bool { return h.Job.View().Status.Terminal() && !h.Job.View().EndOwed }))
		told, _ = talk.Told(answer)
	})
	musttest.Do(t, screen.Close())
	if len(screen.Faults) > 0 {
		t.Errorf("on the terminal:\n%s", strings.Join(screen.Faults, "\n"))
	}
	return screen.Text(), open, told
}

func TestWhatAnExpertSaysStreamsAboveTheTree(t *testing.T) {
	list, said := chatter(t, 1)
	rows, open, told := played(t, 40, watch.Tree, true, list, said)
	want := strings.Split(`● s0  reader
~ Let me look.
! one line
! one line
! one line
! one line
! one line
! one line
! one line
! one line
! … 2 more lines
> run command="ls -l" of=["a …  ok 12ms
> edit do=undo  denied
There are two files, and the second
one is 世界.txt, which is longer than
the row of a terminal that stands
upright.`, "\n")
	musttest.Equal(t, want, rows)
	if !told {
		t.Error("the result counts as not shown")
	}
	for _, early := range []string{"~ Let me\n", "> run command=\"ls -l\" of=[\"a long list…\n", "There are two file\n", "RUNNING"} {
		if !strings.Contains(open, early) {
			t.Errorf("%q was not on the screen meanwhile:\n%s", early, open)
		}
	}
	if strings.Contains(open, "deliv") {
		t.Errorf("a tag was shown:\n%s", open)
	}
}

func TestATerminalThatCannotRedrawGetsWholeRows(t *testing.T) {
	list, said := chatter(t, 1)
	rows, open, _ := played(t, 80, watch.Lines, false, list, said)
	text := strings.Join(rows, "\n")
	for _, want := range []string{"job RUNNING  0/1\n", "\n~ Let me look.\n", "\n> edit do=undo  denied\n", "\nThere are two files, and the second one is 世界.txt, which is longer than the\nrow of", "job FINISHED  1/1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if open != "" {
		t.Errorf("something was redrawn: %s", open)
	}
}

func TestOfSeveralStepsTheLastOneSpeaks(t *testing.T) {
	list, said := chatter(t, 3)
	rows, _, told := played(t, 80, watch.Tree, false, list, said)
	text := strings.Join(rows, "\n")
	if !told || strings.Contains(text, "nobody waits") || !strings.Contains(text, "● s2  reader\n~ Let me look.") {
		t.Errorf("told %t:\n%s", told, text)
	}
	if at, tree := strings.Index(text, "upright."), strings.Index(text, "✔ FINISHED"); tree < at || at < 0 {
		t.Errorf("the tree is not below what was said:\n%s", text)
	}
}

func TestTextsTakeTurnsAndOneThatBeginsAgainIsShownOnce(t *testing.T) {
	list, _ := chatter(t, 1)
	say := func(subjob, id string, offset int, text string, done bool) item.Item {
		return item.Item{Type: item.Text, SubJob: subjob, Run: 1, Expert: "reader", ID: id, Offset: offset, Text: text, Done: done}
	}
	rows, _, _ := played(t, 80, watch.Tree, true, list, []item.Item{
		say(events.PlanID, "plan/1", 0, "Planning ", false),
		say("s0", "answer/1", 0, "broken off", false),
		say("s0", "answer/1", 0, "the second try", true),
		say("s0", "answer/2", 0, "one row\nand ha", false),
		say("s0", "note", 0, "a note", true),
		say(events.PlanID, "plan/1", 9, "is over.", true),
		say("s0", "lost", 0, "", true), // Its first items were lost.
		say("s0", "answer/2", 14, "lf of one", true),
		say("s0", "answer/3", 0, "broken off, too", false),
		say("s0", "answer/3", 0, "what stays", true),
	})
	want := []string{"● planner", "Planning is over.", "● s0  reader", "the second try", "one row", "and half of one", "a note", "what stays"}
	musttest.Equal(t, want, rows)
}
