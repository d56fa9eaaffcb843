package moment

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Zones returns a time zone by its IANA name.
type Zones func(name string) (*time.Location, error)

// FirstNow is the first_run of a schedule whose first run begins at once.
const FirstNow = "now"

var errNoZone = errors.New("no such time zone")

// maxInterval is a year in minutes.
const maxInterval = 366 * 24 * 60

// Rule computes due times. It is immutable.
type Rule struct {
	at     time.Time     // at is the only due time, if set.
	every  time.Duration // every is the interval between due times, counted from anchor, if set.
	anchor time.Time
	cron   *cron // cron is used otherwise, in zone.
	zone   *time.Location
}

// NewRule parses a schedule. Intervals are counted from the anchor. It returns all faults; their fields begin with
// "schedule.".
func NewRule(s *events.Schedule, anchor time.Time, zones Zones) (*Rule, events.Faults) {
	r := &Rule{anchor: anchor, zone: time.UTC}
	var faults events.Faults
	bad := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "schedule." + field, Message: message, Hint: hint})
	}
	given := Ways(s)
	switch pattern := strings.ToLower(s.Pattern); {
	case pattern != "" && pattern != "once" && pattern != "recurring":
		bad("pattern", fmt.Sprintf("unknown pattern %.40q", s.Pattern), "use once or recurring, or leave it out")
	case len(given) != 1:
		bad("pattern", fmt.Sprintf("%d ways to recur are given, want one", len(given)), "give exactly one of interval_minutes, daily_time, cron and at")
	case pattern == "once" && s.At == "":
		bad("pattern", "once does not go together with "+given[0], "use recurring, or leave "+given[0]+" out")
	case pattern == "recurring" && s.At != "":
		bad("pattern", "recurring does not go together with at", "use once, or another way")
	}
	if s.Timezone != "" {
		zone, err := zones(s.Timezone)
		if err != nil || s.Timezone == "Local" {
			faults = append(faults, *CheckZone("schedule.timezone", s.Timezone, func(string) (*time.Location, error) { return nil, errNoZone }))
			zone = time.UTC
		}
		r.zone = zone
	}
	if s.FirstRun != "" && s.FirstRun != FirstNow && s.FirstRun != "due" {
		bad("first_run", fmt.Sprintf("unknown first run %.40q", s.FirstRun), "use now or due")
	}
	r.read(s, bad)
	if len(faults) > 0 {
		return nil, faults
	}
	return r, nil
}

// Ahead returns a fault if the rule has no due time after now.
func (r *Rule) Ahead(now time.Time) events.Faults {
	if !r.Next(now).IsZero() {
		return nil
	}
	return events.Faults{{
		Code: events.CodeInvalid, Field: "schedule", Message: "it has no time in the future", Hint: "choose a later time",
	}}
}

func (r *Rule) read(s *events.Schedule, bad func(field, message, hint string)) {
	if n := s.IntervalMinutes; n < 0 || n > maxInterval {
		bad("interval_minutes", fmt.Sprintf("it has to be within 1 to %d", maxInterval), "")
	}
	r.every = time.Duration(s.IntervalMinutes) * time.Minute
	var err error
	if s.DailyTime != "" {
		if !clockTime.MatchString(s.DailyTime) {
			bad("daily_time", fmt.Sprintf("%.40q is no time of day", s.DailyTime), "write HH:MM from 00:00 to 23:59")
		} else {
			r.cron, err = parseCron(s.DailyTime[3:] + " " + s.DailyTime[:2] + " * * *")
		}
	}
	if s.Cron != "" {
		r.cron, err = parseCron(s.Cron)
	}
	if err != nil {
		bad("cron", err.Error(), `write five fields, "30 9 * * 1-5" for 09:30 on workdays, or a word like @daily`)
	}
	if s.At != "" {
		if r.at, err = r.moment(s.At); err != nil {
			bad("at", fmt.Sprintf("%.40q is not a time", s.At), `write RFC 3339, "2027-01-31T09:30:00Z", or without an offset for a time in timezone`)
		}
	}
}

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// moment parses RFC 3339, or a time without an offset, which is in the zone of the schedule. Fractions of a second are
// dropped, since job ids cannot express them.
func (r *Rule) moment(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err == nil {
		return t.UTC().Truncate(time.Second), nil
	}
	t, err = time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		return t, fmt.Errorf("read moment: %w", err)
	}
	return dateOf(t).at(t.Hour(), t.Minute(), r.zone).Add(time.Duration(t.Second()) * time.Second), nil
}

// Ways lists the alternatives that a schedule sets, by field name.
func Ways(s *events.Schedule) []string {
	var given []string
	for _, way := range []struct {
		name string
		is   bool
	}{{"interval_minutes", s.IntervalMinutes != 0}, {"daily_time", s.DailyTime != ""}, {"cron", s.Cron != ""}, {"at", s.At != ""}} {
		if way.is {
			given = append(given, way.name)
		}
	}
	return given
}

// Zoned reports whether the due times of a schedule depend on its time zone.
func Zoned(s *events.Schedule) bool {
	if s.At != "" {
		_, err := time.Parse(time.RFC3339, s.At)
		return err != nil
	}
	return s.DailyTime != "" || s.Cron != ""
}

// Next returns the first due time after another time, in UTC and whole seconds, or the zero time if there is none.
func (r *Rule) Next(after time.Time) time.Time {
	switch {
	case r.cron != nil:
		return r.cron.next(after, r.zone)
	case r.every > 0:
		anchor := r.anchor.UTC().Truncate(time.Second)
		passed := max(0, after.Sub(anchor)/r.every)
		return anchor.Add((passed + 1) * r.every)
	case r.at.After(after):
		return r.at
	}
	return time.Time{}
}
