package momenttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Zone returns a time zone of this machine.
func Zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Moment parses a time in the form of RFC 3339.
func Moment(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// Expression is a cron expression with its meaning.
type Expression struct {
	// Text is the expression as it is written.
	Text string
	// Minutes to Week are the values of its five fields; Sunday is 0.
	Minutes, Hours, Days, Months, Week []int
	// AnyHour, AnyDay and AnyWeekday are true if the field is a star.
	AnyHour, AnyDay, AnyWeekday bool
}

// Random returns an expression of lists and stars.
func Random(r *rand.Rand) Expression {
	field := func(least, most, share int) (string, []int, bool) {
		if r.IntN(100) < share {
			var all []int
			for v := least; v <= most; v++ {
				all = append(all, v)
			}
			return "*", all, true
		}
		var set []int
		var text []string
		for range 1 + r.IntN(3) {
			v := least + r.IntN(most-least+1)
			set = append(set, v)
			text = append(text, fmt.Sprint(v))
		}
		return strings.Join(text, ","), set, false
	}
	var e Expression
	var texts [5]string
	texts[0], e.Minutes, _ = field(0, 59, 20)
	texts[1], e.Hours, e.AnyHour = field(0, 23, 30)
	texts[2], e.Days, e.AnyDay = field(1, 31, 70)
	texts[3], e.Months, _ = field(1, 12, 80)
	texts[4], e.Week, e.AnyWeekday = field(0, 6, 70)
	e.Text = strings.Join(texts[:], " ")
	return e
}

// shown reports whether a wall-clock time matches.
func (e *Expression) shown(wall time.Time) bool {
	day, week := slices.Contains(e.Days, wall.Day()), slices.Contains(e.Week, int(wall.Weekday()))
	fits := day && week
	if !e.AnyDay && !e.AnyWeekday {
		fits = day || week
	}
	return fits && slices.Contains(e.Months, int(wall.Month())) && slices.Contains(e.Hours, wall.Hour()) && slices.Contains(e.Minutes, wall.Minute())
}

// Enumerate steps through time minute by minute and returns the matching times later than from and not later than to.
func (e *Expression) Enumerate(from, to time.Time, zone *time.Location) []time.Time {
	wall := func(at time.Time) time.Time {
		l := at.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	var list []time.Time
	latest := wall(from)
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		now := wall(at)
		fires := e.shown(now) && (e.AnyHour || now.After(latest))
		for skipped := latest.Add(time.Minute); !e.AnyHour && skipped.Before(now); skipped = skipped.Add(time.Minute) {
			fires = fires || e.shown(skipped)
		}
		if fires {
			list = append(list, at)
		}
		if now.After(latest) {
			latest = now
		}
	}
	return list
}
