package moment

import "time"

// date is a calendar day, independent of the time zone.
type date struct {
	year  int
	month time.Month
	day   int
}

func dateOf(t time.Time) date {
	year, month, day := t.Date()
	return date{year, month, day}
}

func (d date) add(days int) date { return dateOf(d.utc(0, 0).AddDate(0, 0, days)) }

func (d date) weekday() time.Weekday { return d.utc(0, 0).Weekday() }

func (d date) utc(hour, minute int) time.Time {
	return time.Date(d.year, d.month, d.day, hour, minute, 0, 0, time.UTC)
}

// farthest is more than the offset of any time zone from UTC, or any jump of one.
const farthest = 38 * time.Hour

// at returns the instant at which clocks in a zone show a time of this day. For a time shown twice it is the first; for a
// skipped time it is the instant of the jump.
func (d date) at(hour, minute int, zone *time.Location) time.Time {
	shown := d.utc(hour, minute)
	before, behind := offset(shown.Add(-farthest), zone), offset(shown.Add(farthest), zone)
	first, second := shown.Add(-before), shown.Add(-behind)
	if second.Before(first) {
		first, second = second, first
	}
	for _, t := range []time.Time{first, second} {
		if offset(t, zone) == shown.Sub(t) {
			return t
		}
	}
	start, _ := shown.Add(-before).In(zone).ZoneBounds()
	return start.UTC()
}

func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
