// Package moment computes when a schedule is due: once, at an interval, at a time of day, or by a cron expression, in any
// time zone. All code that accepts schedules uses it, so that forms and faults are the same everywhere.
//
// It reads no clock and does no I/O: times and time zones are arguments. It has no state.
package moment
