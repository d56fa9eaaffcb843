package drawing_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func diamond() drawing.Graph {
	return drawing.Graph{Title: "A <diamond>", Nodes: []drawing.Node{
		{ID: "survey", Expert: "Design Expert", Status: "FINISHED"},
		{ID: "code", Dependencies: []string{"survey"}, Status: "RUNNING"},
		{ID: "text", Dependencies: []string{"survey"}, Status: "FAILED", Title: `Read "texts"`},
		{ID: "report", Dependencies: []string{"code", "text", "survey", "nobody"}},
	}}
}

func draw(t *testing.T, g drawing.Graph, format string, width int) string {
	t.Helper()
	var b bytes.Buffer
	musttest.Do(t, drawing.Draw(&b, g, format, width))
	return b.String()
}

func TestTerminalPictureShowsBoxesAndWires(t *testing.T) {
	want := strings.Join([]string{
		"A <diamond>", "",
		"       [✔ survey]",
		"    ┌───────┴─┬─────┐",
		"    │         │     │",
		"[▶ code]  [✘ text]  │",
		"    └───────┐ │     │",
		"            ├─┘     │",
		"            ├───────┘",
		"            │",
		"       [· report]",
		"",
	}, "\n")
	musttest.Equal(t, want, draw(t, diamond(), "ascii", 0))
}

// Titles and names often come from a model: they must not be able to control the terminal.
func TestAPictureHasNothingThatATerminalObeys(t *testing.T) {
	nasty := "a\x1b[2J\x07\u009b31m\u202e\r\nb\x7f\xff"
	g := drawing.Graph{Title: nasty, Nodes: []drawing.Node{{ID: nasty, Title: nasty, Expert: nasty, Status: "FAILED"}, {ID: "c", Dependencies: []string{nasty}}}}
	for _, format := range drawing.Formats() {
		for _, width := range []int{0, 10} {
			text := draw(t, g, format, width)
			if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && drawing.Obeyed(r) }); at >= 0 {
				t.Errorf("%s: a terminal obeys %q", format, text[at:min(at+12, len(text))])
			}
			if strings.Contains(text, "\nb") {
				t.Errorf("%s: a name begins a line of its own: %q", format, text)
			}
		}
	}
}

func TestWideGraphBecomesAList(t *testing.T) {
	got := draw(t, diamond(), "ascii", 10)
	want := "A <diamond>\n\n  1 ✔ survey\n  2 ▶ code ← survey\n  2 ✘ text ← survey\n  3 · report ← code, text, survey, nobody\n"
	musttest.Equal(t, want, got)
}

func TestEveryFormHoldsEveryNode(t *testing.T) {
	for _, format := range drawing.Formats() {
		first := draw(t, diamond(), format, 0)
		if again := draw(t, diamond(), format, 0); again != first {
			t.Errorf("%s: two drawings differ", format)
		}
		for _, id := range []string{"survey", "code", "text", "report"} {
			if !strings.Contains(first, id) {
				t.Errorf("%s: no %s", format, id)
			}
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(draw(t, diamond(), "svg", 0)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestACircleAndAnEmptyGraphAreDrawn(t *testing.T) {
	circle := drawing.Graph{Nodes: []drawing.Node{{ID: "a", Dependencies: []string{"b"}}, {ID: "b", Dependencies: []string{"a"}}}}
	for _, format := range drawing.Formats() {
		draw(t, circle, format, 80)
		draw(t, drawing.Graph{}, format, 80)
	}
}

func TestALargeGraphIsDrawnWhole(t *testing.T) {
	var g drawing.Graph
	for i := range 13_000 {
		n := drawing.Node{ID: fmt.Sprint(i)}
		for d := 1; d <= 15 && d <= i; d++ {
			n.Dependencies = append(n.Dependencies, fmt.Sprint(i-d))
		}
		g.Nodes = append(g.Nodes, n)
	}
	for format, width := range map[string]int{"svg": 0, "ascii": 80} {
		if drawn := draw(t, g, format, width); !strings.Contains(drawn, "12999") {
			t.Errorf("the last node is missing in %d bytes of %s", len(drawn), format)
		}
	}
}

func TestUnknownFormIsRefused(t *testing.T) {
	if err := drawing.Draw(io.Discard, drawing.Graph{}, "gif", 0); err == nil || !strings.Contains(err.Error(), "mermaid") {
		t.Errorf("got %v", err)
	}
}
