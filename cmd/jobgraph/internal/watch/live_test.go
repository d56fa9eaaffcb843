package watch

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// shown is what a terminal of some columns shows of items.
func shown(t *testing.T, width int, items ...item.Item) string {
	t.Helper()
	var out strings.Builder
	l := &Live{Out: &out, Width: width}
	for i := range items {
		if items[i].SubJob == "" {
			items[i].SubJob = "look"
		}
		musttest.Do(t, l.Item(&items[i]))
	}
	musttest.Do(t, l.Flush())
	for line := range strings.Lines(out.String()) {
		if drawing.Width(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("%q is wider than %d columns", line, width)
		}
	}
	return out.String()
}

func TestTextIsWrittenLineByLineAndSeveralSubJobsDoNotMix(t *testing.T) {
	got := shown(t, 30,
		item.Item{Type: item.Thinking, ID: "thought/1", Text: "Where is it"},
		item.Item{Type: item.Text, ID: "answer/1", SubJob: "ask", Text: "It is und"},
		item.Item{Type: item.Thinking, ID: "thought/1", Offset: 11, Text: "?\nLet me look it up in the attic", Done: true},
		item.Item{Type: item.Text, ID: "answer/1", SubJob: "ask", Offset: 9, Text: "er the stairs.\nSure"},
		item.Item{Type: item.Tool, ID: "tool/1/0", Tool: "search", Args: `{"q":"a very long argument of a call"}`},
		item.Item{Type: item.Tool, ID: "tool/1/0", Bytes: 7, Done: true},
		item.Item{Type: item.Text, ID: "answer/1", SubJob: "ask", Offset: 27, Text: "ly.", Done: true},
		item.Item{Type: item.Log, ID: "stderr", Text: "a\x1b[31m red\tline\n"},
		item.Item{Type: item.Component, ID: "c", Component: "report", Text: "# Title"},
		item.Item{Type: item.Seam, ID: "seam/1", Run: 2, Text: "run 2 takes over", Done: true},
		item.Item{Type: item.Text, ID: "open", Text: "not complete"},
	)
	want := `look ~ Where is it?
look ~ Let me look it up in
look ~ the attic
ask | It is under the stairs.
look > search {"q":"a very lo…
ask | Surely.
look ! a [31m red line
look # report: # Title
look = run 2 takes over
look | not complete
`
	musttest.Equal(t, want, got)
}

func TestTextWithoutALineBreakStillStreams(t *testing.T) {
	var out strings.Builder
	l := &Live{Out: &out, Width: 40}
	for n, word := range strings.Fields(strings.Repeat("word ", 20)) {
		musttest.Do(t, l.Item(&item.Item{Type: item.Text, SubJob: "a", ID: "answer", Offset: 5 * n, Text: word + " "}))
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines are written before the text ends:\n%s", n, out.String())
	}
}

func TestAnItemThatBeginsAgainDoesNotRepeatItsBeginning(t *testing.T) {
	got := shown(t, 80,
		item.Item{Type: item.Text, ID: "answer", Text: "half a sen"},
		item.Item{Type: item.Text, ID: "answer", Text: "a whole sentence", Done: true},
	)
	if want := "look | a whole sentence\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWideCharactersAndLongWordsFit(t *testing.T) {
	got := shown(t, 30, item.Item{Type: item.Text, ID: "answer", Text: strings.Repeat("世界", 40) + "\n" + strings.Repeat("x", 100), Done: true})
	if strings.Count(got, "世") != 40 || strings.Count(got, "x") != 100 {
		t.Errorf("something is missing:\n%s", got)
	}
}
