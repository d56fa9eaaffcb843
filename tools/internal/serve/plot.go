package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/tools/internal/chart"
	"github.com/jobgraph/jobgraph/tools/internal/table"
)

// plotRows is the most rows that a chart accepts, plus one.
const plotRows = 100_001

const plotText = "Draws a chart as an SVG file: line, area, bar, scatter, histogram or box. The data are either rows, or files of the workspace (CSV, TSV, " +
	"SQLite) with a query as in the tool sql; without a query the one table of the file. Dates as 2026-01-31 make an axis of time. Aggregate in the query: " +
	"what is drawn is what it gives."

// plotArgs are the arguments of the tool plot.
type plotArgs struct {
	Kind    string           `json:"kind" jsonschema:"line, area, bar, scatter, histogram or box"`
	Files   []string         `json:"files,omitempty" jsonschema:"paths of CSV, TSV or SQLite files"`
	Query   string           `json:"query,omitempty" jsonschema:"a SELECT over the files"`
	Rows    []map[string]any `json:"rows,omitempty" jsonschema:"the data in place of files: objects with the same keys"`
	X       string           `json:"x,omitempty" jsonschema:"column of the horizontal axis; the first one when left out"`
	Y       []string         `json:"y,omitempty" jsonschema:"columns of the vertical axis; all others with numbers when left out"`
	Group   string           `json:"group,omitempty" jsonschema:"column whose values become series of their own"`
	Title   string           `json:"title,omitempty"`
	XLabel  string           `json:"x_label,omitempty" jsonschema:"say the unit"`
	YLabel  string           `json:"y_label,omitempty" jsonschema:"say the unit"`
	Log     bool             `json:"log,omitempty" jsonschema:"true for a logarithmic vertical axis"`
	Stacked bool             `json:"stacked,omitempty" jsonschema:"true to put bars on each other"`
	Bins    int              `json:"bins,omitempty" jsonschema:"of a histogram"`
	Width   int              `json:"width,omitempty" jsonschema:"pixels, 800 when left out"`
	Height  int              `json:"height,omitempty" jsonschema:"pixels, 480 when left out"`
	Out     string           `json:"out,omitempty" jsonschema:"path of the file, out/chart.svg when left out"`
}

func (s *Settings) plot(ctx context.Context, a *plotArgs) (string, error) {
	if a.Out == "" {
		a.Out = "out/chart.svg"
	}
	if !strings.EqualFold(filepath.Ext(a.Out), ".svg") {
		return "", fmt.Errorf("bad arguments: out is a path that ends with .svg, not %q", a.Out)
	}
	data, err := s.data(ctx, a)
	if err != nil {
		return "", err
	}
	path, err := s.Dir.Place(a.Out)
	if err != nil {
		return "", err
	}
	var drawn strings.Builder
	shown, err := chart.Draw(&drawn, data, &chart.Spec{
		Kind: a.Kind, X: a.X, Y: a.Y, Group: a.Group, Title: a.Title, XLabel: a.XLabel, YLabel: a.YLabel, Log: a.Log, Stacked: a.Stacked, Bins: a.Bins,
		Width: a.Width, Height: a.Height,
	})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, []byte(drawn.String()), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", a.Out, err)
	}
	return fmt.Sprintf("%s is written: %s (%d bytes)", a.Out, shown, drawn.Len()), nil
}

// data reads the data to draw.
func (s *Settings) data(ctx context.Context, a *plotArgs) (*chart.Data, error) {
	switch {
	case len(a.Rows) > 0 && (len(a.Files) > 0 || a.Query != ""):
		return nil, errors.New("bad arguments: give rows, or files with a query, not both")
	case len(a.Rows) > 0:
		return given(a)
	case len(a.Files) == 0:
		return nil, errors.New("bad arguments: give rows, or files with a query")
	}
	ctx, end := context.WithTimeout(ctx, defaultTime)
	defer end()
	db, err := table.Open(ctx, s.Dir, a.Files, false)
	if err != nil {
		return nil, late(ctx, err)
	}
	defer func() { _ = db.Close() }() // It was only read.
	query := a.Query
	if query == "" {
		tables := db.Tables()
		if len(tables) != 1 {
			return nil, fmt.Errorf("the files have %d tables: say by query what to draw\n%s", len(tables), table.ShowTables(tables))
		}
		query = "SELECT * FROM " + tables[0].Quoted()
	}
	results, err := db.Run(query, plotRows, nil)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 || len(results[len(results)-1].Columns) == 0 {
		return nil, errors.New("the query gives no rows: end it with a SELECT")
	}
	last := results[len(results)-1]
	return &chart.Data{Columns: last.Columns, Rows: last.Rows}, nil
}

// given makes a table from the rows of a call. The columns of the axes come first, in the order of the call, then the others by
// name.
func given(a *plotArgs) (*chart.Data, error) {
	d := &chart.Data{}
	names := map[string]bool{}
	for _, row := range a.Rows {
		for name := range row { // any order: the result is a set.
			names[name] = true
		}
	}
	for _, name := range append([]string{a.X}, a.Y...) {
		if names[name] {
			d.Columns = append(d.Columns, name)
			delete(names, name)
		}
	}
	d.Columns = append(d.Columns, slices.Sorted(maps.Keys(names))...)
	for n, row := range a.Rows {
		values := make([]any, len(d.Columns))
		for i, name := range d.Columns {
			switch value := row[name].(type) {
			case nil, string, float64:
				values[i] = value
			case bool:
				values[i] = fmt.Sprint(value)
			default:
				return nil, fmt.Errorf("bad arguments: %q of row %d is neither text nor number", name, n+1)
			}
		}
		d.Rows = append(d.Rows, values)
	}
	return d, nil
}
