package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
)

// schedule reads the schedule of a step. Its values are checked later, together with all others.
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
			s.IntervalMinutes = -1 // Present but invalid: it must not count as absent.
		}
	}
	s.FirstRun = in.text("first_run")
	in.refuse("pattern, interval_minutes, daily_time, cron, at, timezone, first_run")
	return s
}

// judgeSchedule returns the schedule in canonical form, or nil if the step runs once and now.
func (d *draft) judgeSchedule(s *step, zone func(string) bool, local string) *events.Schedule {
	in := s.Schedule
	if in == nil {
		return nil
	}
	in.Pattern = strings.ToLower(in.Pattern)
	if *in == (events.Schedule{Pattern: "once", Timezone: in.Timezone}) {
		return nil
	}
	_, faults := moment.NewRule(in, time.Time{}, known(zone))
	for _, f := range faults {
		d.faults.add(f.Code, s.at(f.Field), f.Message, f.Hint)
	}
	if len(faults) > 0 {
		return nil
	}
	if in.Timezone == "" && moment.Zoned(in) {
		in.Timezone = local
	}
	if in.Pattern == "" {
		in.Pattern = "recurring"
		if in.At != "" {
			in.Pattern = "once"
		}
	}
	return in
}

// known resolves every existing zone name to some zone: whether a rule is valid does not depend on the zone. A nil zone
// accepts all names.
func known(zone func(string) bool) moment.Zones {
	return func(name string) (*time.Location, error) {
		if zone != nil && !zone(name) {
			return nil, fmt.Errorf("no zone %q", name)
		}
		return time.UTC, nil
	}
}
