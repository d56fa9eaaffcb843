package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// points returns the points of a series; if ordered, in order of the horizontal axis.
func (x *series) points(ordered bool) plotter.XYs {
	list := make(plotter.XYs, len(x.x))
	for i := range list {
		list[i] = plotter.XY{X: x.x[i], Y: x.y[i]}
	}
	if ordered {
		slices.SortStableFunc(list, func(a, b plotter.XY) int {
			switch {
			case a.X < b.X:
				return -1
			case a.X > b.X:
				return 1
			}
			return 0
		})
	}
	return list
}

// lines draws lines, areas and points.
func (s *Spec) lines(p *plot.Plot, a *axis, all []series) error {
	s.legend = len(all) > 1
	for i := range all {
		points := all[i].points(s.Kind != Scatter)
		if s.Kind == Scatter {
			cloud, err := plotter.NewScatter(points)
			if err != nil {
				return fmt.Errorf("draw: %w", err)
			}
			cloud.GlyphStyle = draw.GlyphStyle{Color: pale(colorOf(i)), Radius: 3, Shape: draw.CircleGlyph{}}
			p.Add(cloud)
			p.Legend.Add(all[i].name, cloud)
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		line.Color, line.Width = colorOf(i), 1.6
		if s.Kind == Area {
			line.FillColor = pale(colorOf(i))
			p.Y.Min = min(p.Y.Min, 0)
		}
		p.Add(line)
		p.Legend.Add(all[i].name, line)
		if len(points) <= mostDots || a.categories != nil {
			dots.GlyphStyle = draw.GlyphStyle{Color: colorOf(i), Radius: 2, Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}
	}
	return nil
}

// mostDots is the number of points up to which a line has dots.
const mostDots = 40

// bars draws bars side by side, or stacked.
func (s *Spec) bars(p *plot.Plot, a *axis, all []series) error {
	s.legend = len(all) > 1
	beside := len(all)
	if s.Stacked {
		beside = 1
	}
	place := vg.Length(s.Width-150) * pixel / vg.Length(len(a.categories))
	width := min(place*0.8/vg.Length(beside), 60)
	var below *plotter.BarChart
	for i := range all {
		values := make(plotter.Values, len(a.categories))
		seen := make([]bool, len(values))
		for n, x := range all[i].x {
			if seen[int(x)] {
				return fmt.Errorf("%q has more than one value in %s: aggregate them in a query, or name a group", a.categories[int(x)], all[i].name)
			}
			seen[int(x)], values[int(x)] = true, all[i].y[n]
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		bars.Color, bars.LineStyle.Width = colorOf(i), 0
		if s.Stacked {
			if below != nil {
				bars.StackOn(below)
			}
			below = bars
		} else {
			bars.Offset = width * (vg.Length(i) - vg.Length(beside-1)/2)
		}
		p.Add(bars)
		p.Legend.Add(all[i].name, bars)
	}
	return nil
}

// boxes draws the distribution of the values in each category.
func (s *Spec) boxes(p *plot.Plot, a *axis, all []series) error {
	if len(all) > 1 {
		return fmt.Errorf("a box chart shows one column by its places, here are %d: name one in y and leave out group", len(all))
	}
	width := min(vg.Length(s.Width-150)*pixel/vg.Length(len(a.categories))*0.5, 50)
	for at := range a.categories {
		var values plotter.Values
		for n, x := range all[0].x {
			if int(x) == at {
				values = append(values, all[0].y[n])
			}
		}
		if len(values) == 0 {
			continue
		}
		box, err := plotter.NewBoxPlot(width, float64(at), values)
		if err != nil {
			return fmt.Errorf("draw: %w", err)
		}
		box.FillColor = pale(colorOf(0))
		p.Add(box)
	}
	return nil
}

// histogram draws how many values fall into equal ranges.
func (s *Spec) histogram(p *plot.Plot, d *Data) (string, error) {
	wanted := s.Y
	if len(wanted) == 0 && s.X != "" {
		wanted = []string{s.X}
	}
	var columns []int
	for _, name := range wanted {
		c, err := d.column(name)
		if err != nil {
			return "", err
		}
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		columns = d.numeric()[:min(1, len(d.numeric()))]
	}
	if len(columns) != 1 || s.Group != "" || s.Bins < 0 || s.Bins > 500 {
		return "", fmt.Errorf("a histogram shows one column with numbers, in 1 to 500 bins and without a group: name it in y")
	}
	all, err := d.split(make([]float64, len(d.Rows)), columns, -1)
	if err != nil {
		return "", err
	}
	values := plotter.Values(all[0].y)
	bins := s.Bins
	if bins == 0 {
		bins = min(max(int(math.Ceil(math.Sqrt(float64(len(values))))), 5), 60)
	}
	h, err := plotter.NewHist(values, bins)
	if err != nil {
		return "", fmt.Errorf("draw: %w", err)
	}
	h.FillColor, h.LineStyle.Color, h.LineStyle.Width = colorOf(0), p.BackgroundColor, 0.5
	p.Add(h)
	p.Y.Min = 0
	s.label(p, d.Columns[columns[0]], d, nil)
	if s.YLabel == "" {
		p.Y.Label.Text = "count"
	}
	return fmt.Sprintf("histogram of %d values in %d bins", len(values), bins), nil
}
