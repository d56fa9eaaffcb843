package cli

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// recurrenceHint lists the forms of a recurrence.
const recurrenceHint = `use "daily 09:00", "every 15m", "at 2027-01-31T09:30:00", "30 9 * * mon-fri" or "@hourly", with a time zone behind it or UTC`

// zoneName matches a time zone; no field of a cron expression matches.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// recurrence parses when a job recurs: daily HH:MM, every DURATION, at MOMENT, or five fields of cron, optionally followed
// by an IANA time zone. The scheduler checks the values.
func recurrence(text string) (*events.Schedule, error) {
	s := &events.Schedule{}
	words := strings.Fields(text)
	fail := func() (*events.Schedule, error) {
		return nil, usageError{fmt.Errorf("--schedule %q is no schedule: %s", text, recurrenceHint)}
	}
	if len(words) == 0 {
		return fail()
	}
	want := map[string]int{"daily": 2, "every": 2, "at": 2, "cron": 6}[words[0]]
	switch {
	case strings.HasPrefix(words[0], "@"):
		want = 1
	case want == 0:
		want = 5
	}
	if words[0] == "cron" && len(words) > 1 && strings.HasPrefix(words[1], "@") {
		want = 2
	}
	if len(words) == want+1 && zoneName.MatchString(words[want]) {
		s.Timezone, words = words[want], words[:want]
	}
	if len(words) != want {
		return fail()
	}
	switch words[0] {
	case "daily":
		s.DailyTime = words[1]
	case "at":
		s.At = words[1]
	case "every":
		every, err := time.ParseDuration(words[1])
		if err != nil || every < time.Minute || every%time.Minute != 0 {
			return nil, usageError{fmt.Errorf("--schedule %q: want whole minutes, every 15m or every 24h", text)}
		}
		s.IntervalMinutes = int(every / time.Minute)
	case "cron":
		s.Cron = strings.Join(words[1:], " ")
	default:
		s.Cron = strings.Join(words, " ")
	}
	return s, nil
}
