package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// maxInterval is a year of minutes.
const maxInterval = 366 * 24 * 60

var clockTime = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// schedule reads when a step recurs; its values are judged later, together with all others.
func (r *reader) schedule(name string) *events.Schedule {
	raw, ok := r.value(name)
	if !ok {
		return nil
	}
	in, ok := r.draft.read(raw, join(r.path, name))
	if !ok {
		return nil
	}
	s := &events.Schedule{
		Pattern: in.text("pattern"), DailyTime: in.text("daily_time"), Cron: in.text("cron"), At: in.text("at"),
		Timezone: in.text("timezone"),
	}
	if n := in.count("interval_minutes"); n != nil {
		s.IntervalMinutes = *n
		if *n == 0 {
			s.IntervalMinutes = -1 // Given, and wrong: not to be taken for absent.
		}
	}
	in.refuse("pattern, interval_minutes, daily_time, cron, at, timezone")
	return s
}

// judgeSchedule gives the schedule in its one written form, nil when the step runs once and now.
func (d *draft) judgeSchedule(s *step, zone func(string) bool) *events.Schedule {
	in := s.Schedule
	if in == nil {
		return nil
	}
	before := len(d.faults.list) + d.faults.more
	bad := func(field, message, hint string) {
		d.faults.add(events.CodeInvalid, s.at("schedule."+field), message, hint)
	}
	given := ways(in)
	switch in.Pattern = strings.ToLower(in.Pattern); {
	case in.Pattern != "" && in.Pattern != "once" && in.Pattern != "recurring":
		bad("pattern", fmt.Sprintf("unknown pattern %.40q", in.Pattern), "use once or recurring")
	case len(given) == 0 && in.Pattern == "once":
		return nil
	case len(given) != 1:
		bad("pattern", fmt.Sprintf("%d ways to recur are given, want one", len(given)), "give exactly one of interval_minutes, daily_time, cron and at")
	case in.Pattern == "once" && in.At == "":
		bad("pattern", "once does not go together with "+given[0], "use recurring, or leave "+given[0]+" out")
	case in.Pattern == "recurring" && in.At != "":
		bad("pattern", "recurring does not go together with at", "use once, or another way")
	}
	judgeMoment(in, bad)
	if in.Timezone != "" && zone != nil && !zone(in.Timezone) {
		bad("timezone", fmt.Sprintf("unknown time zone %.60q", in.Timezone), `use an IANA name, "Europe/Berlin" for one`)
	}
	if len(d.faults.list)+d.faults.more > before {
		return nil
	}
	if in.Pattern == "" {
		in.Pattern = "recurring"
		if in.At != "" {
			in.Pattern = "once"
		}
	}
	return in
}

func judgeMoment(in *events.Schedule, bad func(field, message, hint string)) {
	if n := in.IntervalMinutes; n < 0 || n > maxInterval {
		bad("interval_minutes", fmt.Sprintf("%d is outside 1 to %d", max(n, 0), maxInterval), "")
	}
	if in.DailyTime != "" && !clockTime.MatchString(in.DailyTime) {
		bad("daily_time", fmt.Sprintf("%.40q is no time of day", in.DailyTime), "write HH:MM from 00:00 to 23:59")
	}
	if in.Cron != "" {
		if why := judgeCron(in.Cron); why != "" {
			bad("cron", why, `write five fields, "30 9 * * 1-5" for 09:30 on workdays`)
		}
	}
	if in.At != "" {
		if _, err := time.Parse(time.RFC3339, in.At); err != nil {
			bad("at", fmt.Sprintf("%.40q is no moment", in.At), `write RFC 3339, "2027-01-31T09:30:00Z" for one`)
		}
	}
}

// ways lists the ways to recur that a schedule gives.
func ways(s *events.Schedule) []string {
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

// cronFields are the five fields in order, with their names where they have any.
var cronFields = []struct {
	name        string
	least, most int
	words       []string
}{
	{name: "minute", most: 59},
	{name: "hour", most: 23},
	{name: "day", least: 1, most: 31},
	{name: "month", least: 1, most: 12, words: []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "weekday", most: 7, words: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// judgeCron says what is wrong with a cron expression, "" for nothing.
func judgeCron(text string) string {
	fields := strings.Fields(text)
	if len(fields) != len(cronFields) {
		return fmt.Sprintf("%.60q has %d fields, want five", text, len(fields))
	}
	for i, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			if !cronItem(i, item) {
				return fmt.Sprintf("%s %.40q is not within %d to %d", cronFields[i].name, item, cronFields[i].least, cronFields[i].most)
			}
		}
	}
	return ""
}

// cronItem is true for *, n, a-b, and each of them with a step behind a slash.
func cronItem(field int, item string) bool {
	span, by, stepped := strings.Cut(item, "/")
	if n, err := strconv.Atoi(by); stepped && (err != nil || n < 1 || n > cronFields[field].most) {
		return false
	}
	if span == "*" {
		return true
	}
	from, to, ranged := strings.Cut(span, "-")
	a, ok := cronValue(field, from)
	if !ok || !ranged {
		return ok
	}
	b, ok := cronValue(field, to)
	return ok && a <= b
}

func cronValue(field int, text string) (int, bool) {
	f := cronFields[field]
	for i, word := range f.words {
		if word != "" && strings.EqualFold(word, text) {
			return i, true
		}
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.least && n <= f.most
}
