package output_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func table() output.Table {
	return output.Table{
		Head: []string{"ID", "GOAL"}, WideHead: []string{"SEQ"},
		Rows: []output.Row{{Name: "j1", Cells: []string{"j1", "a\tb\x1b[31m\nc"}, Wide: []string{"7"}, Value: map[string]any{"id": "j1", "list": []int{1}}}},
	}
}

// Columns stand below each other on a terminal, where some letters are two columns wide.
func TestWideLettersKeepTheColumns(t *testing.T) {
	rows := output.Table{Head: []string{"NAME", "STATUS"}, Rows: []output.Row{{Cells: []string{"数据分析", "done"}}, {Cells: []string{"abc", "open"}}}}
	var b strings.Builder
	musttest.Do(t, rows.Write(&b, ""))
	if diff := gocmp.Diff("NAME      STATUS\n数据分析  done\nabc       open\n", b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryFormOfAListIsWritten(t *testing.T) {
	for form, want := range map[string]string{
		"":      "ID  GOAL\nj1  a b [31m c\n",
		"wide":  "ID  GOAL        SEQ\nj1  a b [31m c  7\n",
		"name":  "j1\n",
		"json":  "[\n  {\n    \"id\": \"j1\",\n    \"list\": [\n      1\n    ]\n  }\n]\n",
		"jsonl": "{\"id\":\"j1\",\"list\":[1]}\n",
		"yaml":  "- id: j1\n  list:\n    - 1\n",
	} {
		var b strings.Builder
		if err := table().Write(&b, form); err != nil {
			t.Errorf("%s: %v", form, err)
		}
		if diff := gocmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

// JSON and YAML allow characters that a terminal acts on; written as numbers they mean the same to a program.
func TestNoFormHasAnythingThatATerminalObeys(t *testing.T) {
	value := map[string]any{"raw": json.RawMessage("\"\u009b2J \xff\""), "text": "a\x1b[31m\x7f\u0085\u202eb"}
	want := map[string]string{
		"json":  "{\n  \"raw\": \"\\u009b2J \ufffd\",\n  \"text\": \"a\\u001b[31m\\u007f\\u0085\\u202eb\"\n}\n",
		"jsonl": "{\"raw\":\"\\u009b2J \ufffd\",\"text\":\"a\\u001b[31m\\u007f\\u0085\\u202eb\"}\n",
		"yaml":  "raw: \"\\x9B2J \ufffd\"\ntext: \"a\\e[31m\\x7F\\N\\u202eb\"\n",
	}
	for form, want := range want {
		var b strings.Builder
		musttest.Do(t, output.Value(&b, form, value))
		if diff := gocmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

func TestAQuotedTextFitsTheTerminalAndKeepsEveryCharacter(t *testing.T) {
	text := strings.Repeat("世界x ", 30) + "\nshort"
	got := output.QuoteIn(text, 40)
	var back strings.Builder
	for line := range strings.SplitSeq(got, "\n") {
		rest, marked := strings.CutPrefix(line, "  │ ")
		if !marked || drawing.Width(line) > 40 {
			t.Errorf("%q", line)
		}
		back.WriteString(rest)
	}
	if want := strings.ReplaceAll(text, "\n", ""); back.String() != want {
		t.Errorf("%q, want %q", back.String(), want)
	}
}

func TestSpansAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		850 * time.Millisecond: "850ms", 4200 * time.Millisecond: "4.2s", 187 * time.Second: "3m07s", 125 * time.Minute: "2h05m", 99 * time.Hour: "4d3h",
	} {
		if got := output.Span(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestAnArtifactIsOneLineWithASizeForPeople(t *testing.T) {
	for size, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1<<20 - 1: "1.0 MiB", 1 << 30: "1.0 GiB", 5 << 40: "5120.0 GiB"} {
		if got := output.Size(size); got != want {
			t.Errorf("%d: %s, want %s", size, got, want)
		}
	}
	ref := events.Ref{Name: "a\x1b[2J\n.md", Size: 3, Digest: "0123456789abcdef", MediaType: "text/\tx"}
	if got, want := output.Artifact("s", ref), "s/a [2J .md  3 B  0123456789ab  text/ x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := output.Artifact("s", events.Ref{Name: "b"}); got != "s/b  0 B  " {
		t.Errorf("%q", got)
	}
}

func TestATreeThatDoesNotFitShowsWhatRunsAndFailed(t *testing.T) {
	start := time.Unix(1000, 0)
	s := &graph.State{ID: "j1", Status: events.Running, Goal: "many", Created: start, Progress: graph.Progress{Done: 1, Total: 5}}
	for i, status := range []events.Status{events.Finished, events.Failed, events.Created, events.Running, events.Created} {
		s.SubJobs = append(s.SubJobs, &graph.SubJobState{ID: string(rune('a' + i)), Status: status, Expert: "x", Started: start, Ended: start.Add(time.Second)})
	}
	got := output.Tree{Now: start.Add(time.Minute), Height: 4}.Lines(s)
	want := []string{
		"▶ RUNNING  1/5  1m00s  many  j1",
		"  ▶ d  x  1.0s",
		"  ✘ b  x  1.0s",
		"  … 3 more: 1 finished, 2 created",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoticesAreWholeInTheLastPictureAndCutWhileTheJobRuns(t *testing.T) {
	s := &graph.State{ID: "j1", Status: events.Finished, Goal: "g", Notices: events.Faults{{Code: "malformed", Message: "no JSON of the wanted form", Hint: "answer with JSON"}}}
	for whole, want := range map[bool][]string{
		true:  {"  warning: no JSON of the", "  wanted form (answer with", "  JSON)"},
		false: {"  warning: no JSON of the w…"},
	} {
		got := output.Tree{Now: time.Unix(0, 0), Width: 28, Whole: whole}.Lines(s)
		if diff := gocmp.Diff(want, got[1:]); diff != "" {
			t.Errorf("whole %v (-want +got):\n%s", whole, diff)
		}
	}
}

func TestNoAttemptIsShownBeyondTheMostThereMayBe(t *testing.T) {
	key := &events.Fault{Code: events.CodeNotPermitted, Message: "wrong key"}
	for name, test := range map[string]struct {
		node graph.SubJobState
		want string
	}{
		"the first one runs":               {graph.SubJobState{Status: events.Running, RetryLimit: 3}, ""},
		"one has failed":                   {graph.SubJobState{Status: events.Ready, RetryLimit: 3, Attempts: 1}, "attempt 2/4"},
		"the last one runs":                {graph.SubJobState{Status: events.Running, RetryLimit: 3, Attempts: 3}, "attempt 4/4"},
		"the last one has failed":          {graph.SubJobState{Status: events.Failed, RetryLimit: 3, Attempts: 4}, "attempt 4/4"},
		"none comes behind a wrong key":    {graph.SubJobState{Status: events.Failed, RetryLimit: 3, Attempts: 1, Error: key}, "attempt 1/4, wrong key"},
		"an edit has lowered the limit":    {graph.SubJobState{Status: events.Ready, RetryLimit: 0, Attempts: 2}, "attempt 3/3"},
		"without retries":                  {graph.SubJobState{Status: events.Failed, Attempts: 1}, "attempt 1/1"},
		"writers that stood in for others": {graph.SubJobState{ID: events.FinalID, Status: events.Running, Attempts: 2, RetryLimit: 0}, ""},
	} {
		test.node.ID = cmp.Or(test.node.ID, "a")
		line := output.Tree{}.Lines(&graph.State{SubJobs: []*graph.SubJobState{&test.node}})[1]
		if _, got, _ := strings.Cut(line, "attempt "); strings.TrimPrefix(test.want, "attempt ") != got {
			t.Errorf("%s: %q, want %q", name, line, test.want)
		}
	}
}

func TestATimeThatIsNotKnownIsADash(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, moments := range [][2]time.Time{{{}, at}, {at, {}}, {}} {
		if got := output.Between(moments[0], moments[1]); got != "-" {
			t.Errorf("%v: %s", moments, got)
		}
	}
	if got := output.Between(at, at.Add(time.Minute)); got != "1m00s" {
		t.Error(got)
	}
	if got, want := (output.Tree{Now: at}).Lines(&graph.State{ID: "j", Status: events.Created})[0], "· CREATED  0/0  -  j"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestATableOnANarrowScreenLeavesOutTheColumnsForWhichThereIsNoRoom(t *testing.T) {
	table := output.Table{
		Head: []string{"ID", "STATUS", "AGE", "GOAL"}, Screen: true,
		Rows: []output.Row{{Cells: []string{"0123456789", "FINISHED", "12m", "Write a report"}}, {Cells: []string{"b", "FAILED", "3s", "-"}}},
	}
	for width, want := range map[int]string{
		60: "ID          STATUS    AGE  GOAL\n0123456789  FINISHED  12m  Write a report\nb           FAILED    3s   -\n",
		36: "ID          STATUS    AGE  GOAL\n0123456789  FINISHED  12m  Write a …\nb           FAILED    3s   -\n",
		31: "ID          STATUS    GOAL\n0123456789  FINISHED  Write a …\nb           FAILED    -\n",
		20: "ID          GOAL\n0123456789  Write a…\nb           -\n",
		4:  "ID          GOAL\n0123456789  Write a…\nb           -\n",
	} {
		table.Width = width
		var b strings.Builder
		musttest.Do(t, table.Write(&b, ""))
		if diff := gocmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", width, diff)
		}
	}
	table.Width, table.Screen = 20, false
	var b strings.Builder
	if err := table.Write(&b, ""); err != nil || !strings.Contains(b.String(), "AGE") {
		t.Errorf("a file has every column: %v\n%s", err, b.String())
	}
}
