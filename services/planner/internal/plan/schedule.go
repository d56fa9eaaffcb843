package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
)

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
	if in.Pattern == "" {
		in.Pattern = "recurring"
		if in.At != "" {
			in.Pattern = "once"
		}
	}
	return in
}

// known gives a zone for each name that is one. Whether there is a rule does not depend on which; nil takes all names.
func known(zone func(string) bool) moment.Zones {
	return func(name string) (*time.Location, error) {
		if zone != nil && !zone(name) {
			return nil, fmt.Errorf("no zone %q", name)
		}
		return time.UTC, nil
	}
}
