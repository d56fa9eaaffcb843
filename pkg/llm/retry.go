package llm

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns when the provider wants the next attempt: Retry-After-Ms, else Retry-After in seconds or as a date. 0
// means that it did not say, or not intelligibly.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, ok := span(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return ms
	}
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, ok := span(text, time.Second); ok {
		return seconds
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// span parses a number of units, at most a day: a longer time is a mistake or as good as never.
func span(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(24*time.Hour))), true
}

// again reports whether the same request is worth another attempt at once: the provider's advice, else the class. A broken
// connection, 408, 409, 429 and everything from 500 on are in the classes that may pass.
func (e *Error) again() bool {
	switch {
	case e.Class == Cancelled:
		return false
	case e.retry != 0:
		return e.retry > 0
	}
	return e.Passing()
}
