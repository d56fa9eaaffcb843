// Package moment says at which moments something comes due that recurs: at one moment, by interval, at a time of day, or by a
// cron expression, in any time zone. All that take schedules read them here, so that all know the same forms and faults.
//
// It reads no clock and does no I/O: moments and time zones are handed in. It owns no state.
package moment
