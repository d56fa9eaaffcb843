package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The kinds of charts.
const (
	Line      = "line"
	Area      = "area"
	Bar       = "bar"
	Scatter   = "scatter"
	Histogram = "histogram"
	Box       = "box"
)

// Kinds lists the kinds of charts.
func Kinds() []string { return []string{Line, Area, Bar, Scatter, Histogram, Box} }

// Spec says what to draw.
type Spec struct {
	Kind string
	// X is the column of the horizontal axis, by default the first one. Y are the columns of the vertical axis, by default all
	// further ones with numbers. Group is a column each of whose values makes a separate series; empty for none.
	X     string
	Y     []string
	Group string
	// Title, XLabel and YLabel are the texts of the chart; the labels default to the names of the columns.
	Title, XLabel, YLabel string
	// Log makes the vertical axis logarithmic; Stacked stacks bars; Bins is the number of bars of a histogram, 0 to choose one.
	Log, Stacked bool
	Bins         int
	// Width and Height are in pixels; 0 means 800 and 480.
	Width, Height int

	legend bool // There is more than one series.
}

// pixel is the length of one CSS pixel.
const pixel = vg.Inch / 96

// Draw writes a chart and returns a line that describes it.
func Draw(w io.Writer, d *Data, s *Spec) (string, error) {
	if !slices.Contains(Kinds(), s.Kind) {
		return "", fmt.Errorf("there is no chart %q but %s", s.Kind, strings.Join(Kinds(), ", "))
	}
	if len(d.Rows) == 0 {
		return "", errors.New("there are no rows to draw")
	}
	if len(d.Rows) > maxPoints {
		return "", fmt.Errorf("there are %d rows, at most %d are drawn: aggregate or sample them in the query", len(d.Rows), maxPoints)
	}
	if s.Width == 0 {
		s.Width = 800
	}
	if s.Height == 0 {
		s.Height = 480
	}
	if min(s.Width, s.Height) < 100 || max(s.Width, s.Height) > 4000 {
		return "", errors.New("width and height are 100 to 4000 pixels")
	}
	p := plain(s)
	shown, err := s.fill(p, d)
	if err != nil {
		return "", err
	}
	return shown, s.write(w, p)
}

// fill adds the series to the plot and returns a description.
func (s *Spec) fill(p *plot.Plot, d *Data) (string, error) {
	if s.Kind == Histogram {
		return s.histogram(p, d)
	}
	x, vertical, group, err := s.columns(d)
	if err != nil {
		return "", err
	}
	a, places, err := d.places(x, s.Kind == Bar || s.Kind == Box)
	if err != nil {
		return "", err
	}
	all, err := d.split(places, vertical, group)
	if err != nil {
		return "", err
	}
	if err := s.scale(p, all); err != nil {
		return "", err
	}
	s.label(p, d.Columns[x], d, vertical)
	s.ticks(p, &a)
	switch s.Kind {
	case Bar:
		err = s.bars(p, &a, all)
	case Box:
		err = s.boxes(p, &a, all)
	default:
		err = s.lines(p, &a, all)
	}
	points := 0
	for i := range all {
		points += len(all[i].y)
	}
	return fmt.Sprintf("%s chart of %d values in %d series", s.Kind, points, len(all)), err
}

// columns finds the columns of the axes; group is -1 without one.
func (s *Spec) columns(d *Data) (x int, vertical []int, group int, err error) {
	group = -1
	if s.X != "" {
		if x, err = d.column(s.X); err != nil {
			return
		}
	}
	if s.Group != "" {
		if group, err = d.column(s.Group); err != nil {
			return
		}
	}
	for _, name := range s.Y {
		var c int
		if c, err = d.column(name); err != nil {
			return
		}
		vertical = append(vertical, c)
	}
	if len(vertical) == 0 {
		vertical = d.numeric(x, group)
	}
	if len(vertical) == 0 {
		err = fmt.Errorf("no column for the vertical axis: name it in y; there are %s", strings.Join(d.Columns, ", "))
	}
	return
}

// scale makes the vertical axis logarithmic if requested.
func (s *Spec) scale(p *plot.Plot, all []series) error {
	if !s.Log {
		return nil
	}
	for i := range all {
		if slices.Min(all[i].y) <= 0 {
			return errors.New("a logarithmic axis takes numbers above 0 only: leave the others out, or log")
		}
	}
	if s.Kind == Bar || s.Kind == Area {
		return fmt.Errorf("a %s chart has no logarithmic axis: it begins at 0; use line or scatter", s.Kind)
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	return nil
}

// write draws the plot with its legend on the right.
func (s *Spec) write(w io.Writer, p *plot.Plot) error {
	canvas := vgsvg.New(vg.Length(s.Width)*pixel, vg.Length(s.Height)*pixel)
	whole := draw.New(canvas)
	whole.SetColor(p.BackgroundColor)
	whole.Fill(whole.Path())
	inner := draw.Crop(whole, 6, -14, 6, -6)
	legend := p.Legend
	p.Legend = plot.NewLegend()
	if size := legend.Rectangle(inner).Size(); size.X > 0 && s.legend {
		side := min(size.X+10, inner.Size().X/3)
		legend.Top, legend.Left = true, true
		legend.Draw(draw.Crop(inner, inner.Size().X-side, 0, 0, -20))
		inner = draw.Crop(inner, 0, -side-6, 0, 0)
	}
	p.Draw(inner)
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}
