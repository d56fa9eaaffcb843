package chart

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colors are the colours of series; colour-blind people can distinguish the first eight.
var colors = []color.RGBA{
	{0x00, 0x72, 0xB2, 255},
	{0xE6, 0x9F, 0x00, 255},
	{0x00, 0x9E, 0x73, 255},
	{0xD5, 0x5E, 0x00, 255},
	{0xCC, 0x79, 0xA7, 255},
	{0x56, 0xB4, 0xE9, 255},
	{0x8C, 0x6D, 0x31, 255},
	{0x55, 0x55, 0x55, 255},
	{0x7B, 0x41, 0x73, 255},
	{0xA0, 0xC0, 0x40, 255},
}

func colorOf(i int) color.RGBA { return colors[i%len(colors)] }

// pale returns a colour with half its opacity.
func pale(c color.RGBA) color.Color { return color.NRGBA{c.R, c.G, c.B, 0x60} }

// ink and grey are the colours of texts and lines.
var (
	ink  = color.Gray{0x22}
	grey = color.Gray{0xDD}
)

// plain returns a plot without series.
func plain(s *Spec) *plot.Plot {
	p := plot.New()
	style := func(t *text.Style, size vg.Length) { t.Font.Variant, t.Font.Size, t.Color = "Sans", size, ink }
	p.Title.Text, p.Title.Padding = s.Title, 8
	style(&p.Title.TextStyle, 13)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		style(&a.Label.TextStyle, 10)
		style(&a.Tick.Label, 9)
		a.Label.Padding, a.Padding = 4, 4
		a.LineStyle.Color, a.Tick.LineStyle.Color = color.Gray{0x88}, color.Gray{0x88}
	}
	style(&p.Legend.TextStyle, 9)
	p.Legend.Padding, p.Legend.ThumbnailWidth = 3, 14
	p.Y.Tick.Marker = numbers{grouped: true}
	p.X.Tick.Marker = numbers{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Transparent, grey
	grid.Horizontal.Width, grid.Horizontal.Dashes = 0.5, nil
	p.Add(grid)
	return p
}

// label writes title and labels of the axes.
func (s *Spec) label(p *plot.Plot, x string, d *Data, vertical []int) {
	p.X.Label.Text, p.Y.Label.Text = s.XLabel, s.YLabel
	if s.XLabel == "" {
		p.X.Label.Text = x
	}
	if s.YLabel == "" && len(vertical) == 1 {
		p.Y.Label.Text = d.Columns[vertical[0]]
	}
}

// ticks labels the horizontal axis.
func (s *Spec) ticks(p *plot.Plot, a *axis) {
	switch {
	case a.times:
		p.X.Tick.Marker = times{days: a.days}
	case a.categories != nil:
		p.NominalX(a.categories...)
		longest, space := 0, float64(s.Width-120)/float64(len(a.categories))
		for _, name := range a.categories {
			longest = max(longest, len([]rune(name)))
		}
		if float64(longest)*6.5 > space {
			p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YCenter
		}
	}
}

// numbers are the ticks of an axis of numbers.
type numbers struct{ grouped bool }

// Ticks implements plot.Ticker.
func (n numbers) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = n.format(ticks[i].Value)
		}
	}
	return ticks
}

func (n numbers) format(value float64) string {
	size := math.Abs(value)
	if size != 0 && (size >= 1e15 || size < 1e-4) {
		return strconv.FormatFloat(value, 'g', 4, 64)
	}
	label := strconv.FormatFloat(math.Round(value*1e9)/1e9, 'f', -1, 64)
	whole, fraction, cut := strings.Cut(strings.TrimPrefix(label, "-"), ".")
	if n.grouped {
		for at := len(whole) - 3; at > 0; at -= 3 {
			whole = whole[:at] + "," + whole[at:]
		}
	}
	if cut {
		whole += "." + fraction
	}
	if strings.HasPrefix(label, "-") {
		whole = "-" + whole
	}
	return whole
}

// times computes the ticks of an axis of times: at the beginnings of years, months, days or hours.
type times struct{ days bool }

// steps are distances between ticks with the form of their labels, from the finest.
var steps = []struct {
	years, months, days int
	clock               time.Duration
	layout              string
}{
	{0, 0, 0, time.Minute, "15:04"},
	{0, 0, 0, 10 * time.Minute, "15:04"},
	{0, 0, 0, time.Hour, "02 Jan 15:04"},
	{0, 0, 0, 6 * time.Hour, "02 Jan 15:04"},
	{0, 0, 1, 0, "2006-01-02"},
	{0, 0, 7, 0, "2006-01-02"},
	{0, 1, 0, 0, "2006-01"},
	{0, 3, 0, 0, "2006-01"},
	{1, 0, 0, 0, "2006"},
	{2, 0, 0, 0, "2006"},
	{5, 0, 0, 0, "2006"},
	{10, 0, 0, 0, "2006"},
	{25, 0, 0, 0, "2006"},
	{100, 0, 0, 0, "2006"},
}

// mostTicks is how many labels fit side by side.
const mostTicks = 9

// Ticks implements plot.Ticker.
func (t times) Ticks(low, high float64) []plot.Tick {
	from, to := time.Unix(int64(low), 0).UTC(), time.Unix(int64(high)+1, 0).UTC()
	var ticks []plot.Tick
	for _, step := range steps {
		if t.days && step.clock > 0 {
			continue
		}
		at := from.Truncate(max(step.clock, time.Second))
		switch {
		case step.years > 0:
			at = time.Date(from.Year()/step.years*step.years, 1, 1, 0, 0, 0, 0, time.UTC)
		case step.months > 0:
			at = time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		case step.days > 0:
			at = time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)
		}
		ticks = ticks[:0]
		for ; !at.After(to) && len(ticks) <= mostTicks; at = at.AddDate(step.years, step.months, step.days).Add(step.clock) {
			if !at.Before(from) {
				ticks = append(ticks, plot.Tick{Value: float64(at.Unix()), Label: at.Format(step.layout)})
			}
		}
		if len(ticks) <= mostTicks {
			break
		}
	}
	return ticks
}
