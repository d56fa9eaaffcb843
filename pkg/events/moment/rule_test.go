package moment

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment/momenttest"
)

func rule(t testing.TB, s events.Schedule, anchor time.Time) *Rule {
	t.Helper()
	r, faults := NewRule(&s, anchor, time.LoadLocation)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return r
}

// proves V-T13
func TestTheDelayToTheNextMoment(t *testing.T) {
	for _, c := range []struct {
		name, now string
		when      events.Schedule
		delay     time.Duration
		fields    []string
	}{
		{name: "none", now: "2026-01-01T00:00:00Z", fields: []string{"schedule.pattern"}},
		{name: "five minutes", now: "2026-01-01T08:00:00Z", when: events.Schedule{IntervalMinutes: 5}, delay: 300 * time.Second},
		{name: "later today", now: "2026-01-01T08:00:00Z", when: events.Schedule{DailyTime: "09:30"}, delay: 5400 * time.Second},
		{name: "tomorrow", now: "2026-01-01T20:00:00Z", when: events.Schedule{DailyTime: "07:15"}, delay: 11*time.Hour + 15*time.Minute},
		{name: "no time of day", now: "2026-01-01T08:00:00Z", when: events.Schedule{DailyTime: "bad-input"}, fields: []string{"schedule.daily_time"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := momenttest.Moment(t, c.now)
			r, faults := NewRule(&c.when, now, time.LoadLocation)
			var fields []string
			for _, f := range faults {
				fields = append(fields, f.Field)
			}
			if !slices.Equal(fields, c.fields) {
				t.Fatalf("faults in %v, want %v", fields, c.fields)
			}
			if r != nil && r.Next(now).Sub(now) != c.delay {
				t.Errorf("delay %s, want %s", r.Next(now).Sub(now), c.delay)
			}
		})
	}
}

// proves V-weakness-9-dst
func TestClocksThatJump(t *testing.T) {
	for _, c := range []struct {
		name, after string
		when        events.Schedule
		want        []string
	}{
		{
			"a time that is skipped comes when the clock goes on, Berlin", "2026-03-28T12:00:00Z",
			events.Schedule{DailyTime: "02:30", Timezone: "Europe/Berlin"},
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"a time that is shown twice comes once, Berlin", "2026-10-24T12:00:00Z",
			events.Schedule{DailyTime: "02:30", Timezone: "Europe/Berlin"},
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"a time of day stays what it is, New York", "2026-03-07T12:00:00Z",
			events.Schedule{DailyTime: "09:00", Timezone: "America/New_York"},
			[]string{"2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z"},
		},
		{
			"several skipped times are one, New York", "2026-03-08T06:00:00Z",
			events.Schedule{Cron: "0,20,40 2,3 * * *", Timezone: "America/New_York"},
			[]string{"2026-03-08T07:00:00Z", "2026-03-08T07:20:00Z", "2026-03-08T07:40:00Z", "2026-03-09T06:00:00Z"},
		},
		{
			"half an hour, Lord Howe", "2026-04-04T12:00:00Z",
			events.Schedule{DailyTime: "01:45", Timezone: "Australia/Lord_Howe"},
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		},
		{
			"half an hour is skipped, Lord Howe", "2026-10-03T12:00:00Z",
			events.Schedule{DailyTime: "02:10", Timezone: "Australia/Lord_Howe"},
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:10:00Z"},
		},
		{
			"no change at all, India", "2026-03-28T12:00:00Z",
			events.Schedule{DailyTime: "05:30", Timezone: "Asia/Kolkata"},
			[]string{"2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"},
		},
		{
			"every half hour goes on through the hour that is shown twice", "2026-10-25T00:15:00Z",
			events.Schedule{Cron: "*/30 * * * *", Timezone: "Europe/Berlin"},
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"},
		},
		{
			"a day that is skipped", "2011-12-29T12:00:00Z",
			events.Schedule{DailyTime: "12:00", Timezone: "Pacific/Apia"},
			[]string{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := momenttest.Moment(t, c.after)
			r := rule(t, c.when, at)
			var got []string
			for range c.want {
				at = r.Next(at)
				got = append(got, at.Format(time.RFC3339))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("moments %v, want %v", got, c.want)
			}
		})
	}
}

// proves V-weakness-9-dst
func TestMomentsAreThoseThatAClockOnTheWallShows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ zone, from string }{
		{"Europe/Berlin", "2026-03-24T00:00:00Z"},
		{"Europe/Berlin", "2026-10-20T00:00:00Z"},
		{"America/New_York", "2026-03-05T00:00:00Z"},
		{"America/New_York", "2026-10-29T00:00:00Z"},
		{"Australia/Lord_Howe", "2026-04-01T00:00:00Z"},
		{"Australia/Lord_Howe", "2026-10-01T00:00:00Z"},
		{"Asia/Kolkata", "2026-02-25T00:00:00Z"},
		{"Africa/Cairo", "2026-04-21T00:00:00Z"},
		{"America/Havana", "2026-10-29T00:00:00Z"},
		{"UTC", "2028-02-26T00:00:00Z"},
	} {
		z, from := momenttest.Zone(t, c.zone), momenttest.Moment(t, c.from)
		to := from.AddDate(0, 0, 9)
		for range 12 {
			e := momenttest.Random(r)
			expr, err := parseCron(e.Text)
			if err != nil {
				t.Fatal(err)
			}
			var got []time.Time
			for at := expr.next(from, z); !at.IsZero() && !at.After(to); at = expr.next(at, z) {
				got = append(got, at)
			}
			if want := e.Enumerate(from, to, z); !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%s in %s from %s: %v, the wall shows %v", e.Text, c.zone, c.from, got, want)
			}
		}
	}
}

// proves V-weakness-9-drift
func TestIntervalsDoNotDrift(t *testing.T) {
	anchor := momenttest.Moment(t, "2026-01-01T00:00:30Z").Add(123456789)
	r := rule(t, events.Schedule{IntervalMinutes: 7}, anchor)
	at := anchor
	for n := 1; n <= 500; n++ {
		at = r.Next(at.Add(time.Duration(n) * time.Millisecond)) // Each is asked a little late.
		if want := anchor.Truncate(time.Second).Add(time.Duration(n) * 7 * time.Minute); !at.Equal(want) {
			t.Fatalf("moment %d is %s, want %s", n, at, want)
		}
	}
}

// proves V-weakness-9-dst
func TestExpressionsWithNamesStepsAndWords(t *testing.T) {
	for text, same := range map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
		"*/20 9-17/4 * * mon-FRI": "0,20,40 9,13,17 * * 1,2,3,4,5", "5/15 0 ? Jan,dec 7": "5,20,35,50 0 * 1,12 0", "0 0 * * 5-7": "0 0 * * 0,5,6",
	} {
		a, err := parseCron(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseCron(same)
		if err != nil {
			t.Fatal(err)
		}
		b.weekday |= b.weekday & 1 << 7
		a.weekday &^= 1 << 7
		b.weekday &^= 1 << 7
		if *a != *b {
			t.Errorf("%s is not %s: %+v, want %+v", text, same, *a, *b)
		}
	}
}

func TestEveryFaultOfAScheduleIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		when   events.Schedule
		fields []string
	}{
		{"two ways", events.Schedule{IntervalMinutes: 5, DailyTime: "09:00"}, []string{"schedule.pattern"}},
		{"everything at once", events.Schedule{Pattern: "often", Cron: "61 * * * *", Timezone: "Mars/Base"}, []string{"schedule.pattern", "schedule.timezone", "schedule.cron"}},
		{"negative", events.Schedule{IntervalMinutes: -1}, []string{"schedule.interval_minutes"}},
		{"too few fields", events.Schedule{Cron: "* * * *"}, []string{"schedule.cron"}},
		{"seconds", events.Schedule{Cron: "0 0 * * * *"}, []string{"schedule.cron"}},
		{"no step", events.Schedule{Cron: "*/0 * * * *"}, []string{"schedule.cron"}},
		{"backwards", events.Schedule{Cron: "* * * * fri-mon"}, []string{"schedule.cron"}},
		{"an unknown word", events.Schedule{Cron: "@reboot"}, []string{"schedule.cron"}},
		{"what others call the last day", events.Schedule{Cron: "0 0 L * *"}, []string{"schedule.cron"}},
		{"no moment", events.Schedule{At: "tomorrow"}, []string{"schedule.at"}},
		{"once every day", events.Schedule{Pattern: "once", DailyTime: "09:00"}, []string{"schedule.pattern"}},
		{"recurring once", events.Schedule{Pattern: "recurring", At: "2027-01-01T00:00:00Z"}, []string{"schedule.pattern"}},
		{"the zone of a machine", events.Schedule{DailyTime: "09:00", Timezone: "Local"}, []string{"schedule.timezone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := NewRule(&c.when, momenttest.Moment(t, "2026-01-01T00:00:00Z"), time.LoadLocation)
			var fields []string
			for _, f := range faults {
				fields = append(fields, f.Field)
			}
			if !slices.Equal(fields, c.fields) {
				t.Errorf("faults in %v, want %v", fields, c.fields)
			}
		})
	}
}

func TestAMomentThatNeverComesIsAFault(t *testing.T) {
	now := momenttest.Moment(t, "2026-06-01T00:00:00Z")
	for _, when := range []events.Schedule{{Cron: "0 0 31 2 *"}, {At: "2026-05-31T23:59:59Z"}, {At: "2026-06-01T01:00:00", Timezone: "Europe/Berlin"}} {
		if faults := rule(t, when, now).Ahead(now); len(faults) != 1 {
			t.Errorf("%+v: %v", when, faults)
		}
	}
	leap := rule(t, events.Schedule{Cron: "0 0 29 2 *"}, now)
	if at := leap.Next(momenttest.Moment(t, "2096-03-01T00:00:00Z")); at.Format(time.DateOnly) != "2104-02-29" {
		t.Errorf("the leap day behind 2096 is %s", at)
	}
}
