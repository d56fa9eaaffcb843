package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits beyond which a chart is unreadable.
const (
	maxPoints     = 100_000
	maxSeries     = 20
	maxCategories = 100
)

// Data is the table of which a chart is drawn.
type Data struct {
	Columns []string
	// Rows hold int64, float64, string, []byte or nil.
	Rows [][]any
}

// series is one line, set of bars or cloud of points.
type series struct {
	name string
	x, y []float64
}

// axis describes the horizontal axis of a chart.
type axis struct {
	// categories are the labels at 0, 1, 2 …; nil for numbers and times.
	categories []string
	// times is true if the numbers are seconds since 1970.
	times bool
	// days is true if all times are whole days.
	days bool
}

// column finds a column by name.
func (d *Data) column(name string) (int, error) {
	for i, c := range d.Columns {
		if strings.EqualFold(c, name) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("there is no column %q but %s", name, strings.Join(d.Columns, ", "))
}

// number returns a value as a number; ok is false if it is empty. Errors: a value that is not a number.
func (d *Data) number(row, column int) (value float64, ok bool, err error) {
	switch v := d.Rows[row][column].(type) {
	case int64:
		value = float64(v)
	case float64:
		value = v
	case string:
		if strings.TrimSpace(v) == "" {
			return 0, false, nil
		}
		if value, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
			return 0, false, fmt.Errorf("column %s has no number in row %d but %.60q: convert it in the query, or leave the row out", d.Columns[column], row+1, v)
		}
	case nil:
		return 0, false, nil
	default:
		return 0, false, fmt.Errorf("column %s has bytes in row %d", d.Columns[column], row+1)
	}
	return value, !math.IsNaN(value) && !math.IsInf(value, 0), nil
}

// label formats a value as the label of a category or a group.
func label(value any) string {
	switch v := value.(type) {
	case nil:
		return "(none)"
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// layouts are the accepted forms of times.
var layouts = []string{time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01", "2006/01/02"}

func moment(value any) (float64, bool) {
	text, is := value.(string)
	if !is {
		return 0, false
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return float64(at.UnixNano()) / 1e9, true
		}
	}
	return 0, false
}

// places returns the position of each row on the horizontal axis, NaN for none. With nominal every value is a category.
func (d *Data) places(column int, nominal bool) (axis, []float64, error) {
	places := make([]float64, len(d.Rows))
	numbers, times := !nominal, !nominal
	for i, row := range d.Rows {
		switch v := row[column].(type) {
		case nil:
			places[i] = math.NaN()
		case int64, float64:
			times = false
			places[i], _, _ = d.number(i, column) // The column contains only numbers.
		default:
			at, is := moment(v)
			numbers, times = false, times && is
			places[i] = at
		}
	}
	if numbers || times {
		a := axis{times: times && !numbers, days: true}
		for _, at := range places {
			a.days = a.days && (math.IsNaN(at) || math.Mod(at, 86400) == 0)
		}
		return a, places, nil
	}
	a := axis{}
	index := map[string]int{}
	for i, row := range d.Rows {
		name := label(row[column])
		at, known := index[name]
		if !known {
			at = len(a.categories)
			index[name] = at
			a.categories = append(a.categories, name)
		}
		places[i] = float64(at)
	}
	if len(a.categories) > maxCategories {
		return a, nil, fmt.Errorf("column %s has %d different values, at most %d can be told apart: aggregate, or take the largest", d.Columns[column], len(a.categories), maxCategories)
	}
	return a, places, nil
}

// numeric lists the columns with numbers, except the given ones.
func (d *Data) numeric(except ...int) []int {
	var list []int
	for c := range d.Columns {
		found := false
		for i := range d.Rows {
			switch d.Rows[i][c].(type) {
			case int64, float64:
				found = true
			}
			if found {
				break
			}
		}
		if found && !slices.Contains(except, c) {
			list = append(list, c)
		}
	}
	return list
}

// split makes the series: one for each vertical column, and for each value of the group.
func (d *Data) split(places []float64, vertical []int, group int) ([]series, error) {
	var all []series
	for _, c := range vertical {
		index := map[string]int{}
		for i := range d.Rows {
			y, ok, err := d.number(i, c)
			if err != nil {
				return nil, err
			}
			if !ok || math.IsNaN(places[i]) {
				continue
			}
			name := d.Columns[c]
			if group >= 0 {
				name = label(d.Rows[i][group])
				if len(vertical) > 1 {
					name += " " + d.Columns[c]
				}
			}
			at, known := index[name]
			if !known {
				at = len(all)
				index[name] = at
				all = append(all, series{name: name})
			}
			all[at].x = append(all[at].x, places[i])
			all[at].y = append(all[at].y, y)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is nothing to draw: the columns hold no numbers")
	}
	if len(all) > maxSeries {
		return nil, fmt.Errorf("there would be %d series, at most %d can be told apart: aggregate, or take the largest", len(all), maxSeries)
	}
	return all, nil
}
