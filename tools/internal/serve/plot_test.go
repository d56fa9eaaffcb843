package serve_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
)

// texts returns the texts of an SVG file, which must be well-formed.
func texts(t *testing.T, svg string) (all []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	inside := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			inside = x.Name.Local == "text"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				all = append(all, string(x))
			}
		}
	}
}

func holdsAll(t *testing.T, svg string, wanted ...string) {
	t.Helper()
	all := texts(t, svg)
	for _, text := range wanted {
		found := false
		for _, one := range all {
			found = found || one == text
		}
		if !found {
			t.Errorf("there is no text %q in %q", text, all)
		}
	}
}

func TestChartsOfEachKindShowTheirData(t *testing.T) {
	b := open(t, map[string]string{"sales.csv": sales})
	b.gives("plot", args{"kind": "line", "files": []string{"sales.csv"}, "y": []string{"price"}, "title": "Prices <& more>", "y_label": "EUR"}, "out/chart.svg is written: line chart of 3 values in 1 series")
	holdsAll(t, b.read("out/chart.svg"), "Prices <& more>", "day", "EUR", "2026-01-01", "2026-01-03")
	b.gives("plot", args{"kind": "bar", "files": []string{"sales.csv"}, "query": "SELECT region, sum(units) AS units, sum(price) AS price FROM sales GROUP BY 1", "out": "out/bar.svg"}, "bar chart of 4 values in 2 series")
	holdsAll(t, b.read("out/bar.svg"), "north", "south", "units", "price", "region")
	b.gives("plot", args{"kind": "scatter", "out": "s.svg", "group": "k", "x": "a", "y": []string{"b"}, "rows": []args{{"a": 1, "b": 2e6, "k": "one"}, {"a": 2, "b": 4e6, "k": "two"}, {"a": 3, "k": "two"}}}, "scatter chart of 2 values in 2 series")
	holdsAll(t, b.read("s.svg"), "one", "two", "2,000,000")
	b.gives("plot", args{"kind": "histogram", "out": "h.svg", "files": []string{"sales.csv"}, "y": []string{"price"}, "bins": 4}, "histogram of 3 values in 4 bins")
	holdsAll(t, b.read("h.svg"), "price", "count")
	b.gives("plot", args{"kind": "box", "out": "box.svg", "files": []string{"sales.csv"}, "x": "region", "y": []string{"price"}}, "box chart of 3 values")
	b.gives("plot", args{"kind": "area", "out": "area.svg", "files": []string{"sales.csv"}, "x": "region", "y": []string{"price"}}, "area chart of 3 values")
	b.gives("plot", args{"kind": "line", "out": "log.svg", "log": true, "files": []string{"sales.csv"}, "y": []string{"price"}}, "line chart")
	b.gives("plot", args{"kind": "bar", "stacked": true, "out": "stack.svg", "rows": []args{{"k": "a", "x": 1, "y": 2}, {"k": "b", "x": 3, "y": 4}}, "x": "k"}, "bar chart of 4 values in 2 series")
}

func TestWhatCannotBeDrawnSaysWhy(t *testing.T) {
	b := open(t, map[string]string{"sales.csv": sales, "words.csv": "a,b\nx,y\n", "none.csv": "a,b\n"})
	rows := make([]args, 101)
	for i := range rows {
		rows[i] = args{"k": "c" + strconv.Itoa(i), "v": i}
	}
	file := []string{"sales.csv"}
	for _, c := range []struct {
		args args
		why  string
	}{
		{args{"kind": "pie", "files": file}, `there is no chart "pie" but line, area`},
		{args{"kind": "line"}, "give rows, or files with a query"},
		{args{"kind": "line", "files": file, "rows": rows}, "not both"},
		{args{"kind": "line", "files": file, "x": "date"}, `there is no column "date" but day, region`},
		{args{"kind": "line", "files": []string{"words.csv"}}, "no column for the vertical axis"},
		{args{"kind": "line", "files": []string{"words.csv"}, "y": []string{"b"}}, `column b has no number in row 1 but "y"`},
		{args{"kind": "line", "files": []string{"none.csv"}}, "there are no rows"},
		{args{"kind": "line", "files": []string{"sales.csv", "words.csv"}}, "the files have 2 tables"},
		{args{"kind": "bar", "files": file, "x": "region", "y": []string{"price"}}, `"north" has more than one value`},
		{args{"kind": "bar", "rows": rows, "x": "k"}, "101 different values"},
		{args{"kind": "scatter", "rows": rows, "x": "v", "y": []string{"v"}, "group": "k"}, "101 series"},
		{args{"kind": "line", "log": true, "rows": rows, "x": "v", "y": []string{"v"}}, "above 0"},
		{args{"kind": "bar", "log": true, "rows": []args{{"a": "x", "b": 1}}}, "no logarithmic axis"},
		{args{"kind": "histogram", "files": file, "group": "region"}, "without a group"},
		{args{"kind": "line", "files": file, "y": []string{"price"}, "width": 20}, "100 to 4000"},
		{args{"kind": "line", "files": file, "out": "x.png"}, "ends with .svg"},
		{args{"kind": "line", "files": file, "y": []string{"price"}, "out": "../x.svg"}, "outside the workspace"},
		{args{"kind": "line", "files": file, "query": "CREATE TEMP TABLE x(a)"}, "end it with a SELECT"},
		{args{"kind": "line", "rows": []args{{"a": 1, "b": []int{1}}}}, "neither text nor number"},
	} {
		b.fails("plot", c.args, c.why)
	}
}
