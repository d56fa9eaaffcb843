package moment

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cron is a parsed cron expression: for each field the set of its values, as bits.
type cron struct {
	minute, hour, day, month, weekday uint64
	// anyHour is true if the hours are not restricted: then the expression means elapsed time rather than times of day.
	anyHour bool
	// either is true if day and weekday are both restricted: then one of them has to match, not both.
	either bool
}

// span is the range of values of a field.
type span struct {
	name        string
	least, most int
	words       []string // words name the values from least on.
}

func spans() [5]span {
	return [5]span{
		{name: "minute", most: 59},
		{name: "hour", most: 23},
		{name: "day", least: 1, most: 31},
		{name: "month", least: 1, most: 12, words: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{name: "weekday", most: 7, words: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// shorthand returns the five fields for a word like @daily.
func shorthand(text string) string {
	switch strings.ToLower(text) {
	case "@hourly":
		return "0 * * * *"
	case "@daily", "@midnight":
		return "0 0 * * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@monthly":
		return "0 0 1 * *"
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	}
	return text
}

// parseCron parses five fields of lists, ranges, steps and names, or a shorthand. The error names the faulty field.
func parseCron(text string) (*cron, error) {
	fields := strings.Fields(shorthand(strings.TrimSpace(text)))
	if len(fields) != 5 {
		return nil, fmt.Errorf("%.60q has %d fields, want five: minute hour day month weekday", text, len(fields))
	}
	var sets [5]uint64
	for i, s := range spans() {
		for item := range strings.SplitSeq(fields[i], ",") {
			set, err := s.item(item)
			if err != nil {
				return nil, err
			}
			sets[i] |= set
		}
	}
	c := &cron{minute: sets[0], hour: sets[1], day: sets[2], month: sets[3], weekday: sets[4]}
	if c.weekday&(1<<7) != 0 { // Sunday can be written as 0 and as 7.
		c.weekday |= 1
	}
	c.anyHour = bits.OnesCount64(c.hour) == 24
	c.either = !star(fields[2]) && !star(fields[4])
	return c, nil
}

// star reports whether a field restricts nothing by itself.
func star(field string) bool { return strings.HasPrefix(field, "*") || field == "?" }

// item parses one item of a list: *, ?, n, or a-b, each except ? optionally with a step after a slash.
func (s span) item(text string) (uint64, error) {
	wrong := fmt.Errorf("%s %.40q is not within %d to %d", s.name, text, s.least, s.most)
	values, by, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(by); err != nil || step < 1 || step > s.most {
			return 0, wrong
		}
	}
	from, to := s.least, s.most
	switch first, last, ranged := strings.Cut(values, "-"); {
	case values == "*", values == "?" && !stepped:
	case ranged:
		var ok, okay bool
		from, ok = s.value(first)
		to, okay = s.value(last)
		if !ok || !okay || from > to {
			return 0, wrong
		}
	default:
		var ok bool
		if from, ok = s.value(first); !ok {
			return 0, wrong
		}
		if !stepped {
			to = from
		}
	}
	var set uint64
	for v := from; v <= to; v += step {
		set |= 1 << v
	}
	return set, nil
}

func (s span) value(text string) (int, bool) {
	for i, word := range s.words {
		if strings.EqualFold(word, text) {
			return s.least + i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= s.least && n <= s.most && !strings.HasPrefix(text, "+")
}

// fits reports whether a day matches the expression.
func (c *cron) fits(day date) bool {
	if c.month&(1<<day.month) == 0 {
		return false
	}
	byDay, byWeekday := c.day&(1<<day.day) != 0, c.weekday&(1<<day.weekday()) != 0
	if c.either {
		return byDay || byWeekday
	}
	return byDay && byWeekday
}

// longest is how many days ahead to search: the 29th of February may be eight years away.
const longest = 366 * 9

// next returns the first matching time later than after, or the zero time if there is none.
func (c *cron) next(after time.Time, zone *time.Location) time.Time {
	day := dateOf(after.In(zone)).add(-1) // The last times of a day that a clock change shortened belong to the previous day.
	for range longest {
		if c.fits(day) {
			if at := c.within(day, after, zone); !at.IsZero() {
				return at
			}
		}
		day = day.add(1)
	}
	return time.Time{}
}

// within returns the first matching time of a day that is later than after.
func (c *cron) within(day date, after time.Time, zone *time.Location) time.Time {
	if c.anyHour {
		return c.elapsed(day, after, zone)
	}
	for hour := range 24 {
		for minute := 0; c.hour&(1<<hour) != 0 && minute < 60; minute++ {
			if c.minute&(1<<minute) == 0 {
				continue
			}
			if at := day.at(hour, minute, zone); at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

// elapsed walks through a day in elapsed time: hours skipped by a clock change are not made up for, repeated hours count
// twice.
func (c *cron) elapsed(day date, after time.Time, zone *time.Location) time.Time {
	at, end := day.at(0, 0, zone), day.add(1).at(0, 0, zone)
	if !after.Before(at) {
		at = after.Truncate(time.Minute).Add(time.Minute)
	}
	for ; at.Before(end); at = at.Add(time.Minute) {
		local := at.In(zone)
		if c.minute&(1<<local.Minute()) != 0 && dateOf(local) == day {
			return at.UTC()
		}
	}
	return time.Time{}
}
