package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestAFewWordsSayWhenAJobRecurs(t *testing.T) {
	for text, want := range map[string]*events.Schedule{
		"daily 09:00":                         {DailyTime: "09:00"},
		" daily  09:00 America/New_York":      {DailyTime: "09:00", Timezone: "America/New_York"},
		"every 15m":                           {IntervalMinutes: 15},
		"every 24h UTC":                       {IntervalMinutes: 1440, Timezone: "UTC"},
		"at 2027-01-31T09:30:00 Asia/Kolkata": {At: "2027-01-31T09:30:00", Timezone: "Asia/Kolkata"},
		"30 9 * * mon-fri":                    {Cron: "30 9 * * mon-fri"},
		"*/15 * * * MON Etc/GMT+2":            {Cron: "*/15 * * * MON", Timezone: "Etc/GMT+2"},
		"cron 0 0 1 JAN *":                    {Cron: "0 0 1 JAN *"},
		"cron @daily Europe/Berlin":           {Cron: "@daily", Timezone: "Europe/Berlin"},
		"@weekly":                             {Cron: "@weekly"},
		"":                                    nil, "daily": nil, "daily 09:00 at home": nil, "0 0 1 JAN": nil, "every": nil, "every 90s": nil, "every -5m": nil, "every week": nil,
		"* * * * * *": nil, "cron": nil, "@daily 09:00": nil, "at": nil,
	} {
		got, err := recurrence(text)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
