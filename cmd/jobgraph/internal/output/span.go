package output

import (
	"fmt"
	"time"
)

// Span formats a duration for people: 850ms, 4.2s, 3m07s, 2h05m, 4d3h.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Between formats the time between two times, "-" if one of them is unknown.
func Between(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return "-"
	}
	return Span(to.Sub(from))
}
