package expert

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter limits the wait that a server may ask for.
const maxRetryAfter = 24 * time.Hour

// RetryAfter parses the value of a Retry-After header, seconds or a date; anything else is 0. A wait is at most a day.
func RetryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
