package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
)

// clock matches a time of day as people write it.
const clock = `(?:\d{1,2}(?:[:：]\d{2})?\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)?)`

// timeWords match phrases that say when something recurs or that a person should be notified. They belong to the schedule;
// an expert that reads them would schedule or notify by itself.
var timeWords = []*regexp.Regexp{
	regexp.MustCompile(`(?i)[,;]?\s*\b(?:every|each)\s+(?:other\s+)?(?:\d+\s*)?(?:minutes?|mins?|hours?|hrs?|days?|weeks?|months?|mornings?|evenings?|nights?|weekdays?|workdays?|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b(?:\s+(?:at|from|by)\s+` + clock + `)?`),
	regexp.MustCompile(`(?i)[,;]?\s*\b(?:once\s+an?\s+(?:hour|day|week|month)|hourly|daily|weekly|monthly)\b(?:\s+at\s+` + clock + `)?`),
	regexp.MustCompile(`(?i)[,;]?\s*\bat\s+\d{1,2}[:：]\d{2}\s*(?:am|pm|a\.m\.|p\.m\.)?(?:\s+(?:every|each)\s+day)?`),
	regexp.MustCompile(`(?i)[,;]?\s*(?:\band\s+)?\b(?:please\s+)?(?:notify|alert|remind|ping|inform|tell)\s+me\b(?:\s+(?:about|of|on)\b)?`),
	regexp.MustCompile(`(?i)^\s*(?:confirm(?:ed)?\b|确认)[,;:，；：\s]*`),
	regexp.MustCompile(`[，、；]?\s*每隔?\s*(?:\d+|[一二两三四五六七八九十百半]+)?\s*(?:个)?(?:分钟|小时|天|日|周[一二三四五六日末]?|星期[一二三四五六日天]?|月|工作日)\s*(?:的)?\s*(?:早上|上午|中午|下午|晚上|凌晨)?\s*(?:在)?\s*(?:(?:\d{1,2}|[一二两三四五六七八九十]+)(?:[:：]\d{2}|[点时](?:\d{1,2}分?|半)?))?`),
	regexp.MustCompile(`[，、；]?\s*每(?:早|晚|天早上|天晚上)\s*(?:(?:\d{1,2}|[一二两三四五六七八九十]+)(?:[:：]\d{2}|[点时](?:\d{1,2}分?|半)?))?`),
	regexp.MustCompile(`[，、；]?\s*(?:并|然后|再)?(?:请)?(?:定时|定期)?(?:提醒|通知|告诉|推送给)我`),
	regexp.MustCompile(`(?:定时|定期)`),
}

var gaps = regexp.MustCompile(`[ \t]{2,}`)

// StripSchedule removes phrases about time and notification from a goal, in English and Chinese. A goal that would become
// empty is returned unchanged.
func StripSchedule(goal string) string {
	text := goal
	for _, words := range timeWords {
		text = words.ReplaceAllStringFunc(text, blank)
	}
	text = strings.Trim(gaps.ReplaceAllString(text, " "), " \t\r\n,;，；、")
	if strings.Trim(text, " .。!！?？") == "" {
		return goal
	}
	return text
}

// blank replaces a phrase: by a space, or by nothing in a language without spaces.
func blank(phrase string) string {
	for _, r := range phrase {
		if unicode.Is(unicode.Han, r) {
			return ""
		}
	}
	return " "
}

// Recurs describes in words when a schedule is due, with its time zone and the next time in it, if that is known: "every day at
// 09:00 Europe/Berlin, next 2026-11-25 09:00". Without a time zone it says UTC.
func Recurs(s *events.Schedule, next time.Time) string {
	zone := firstOf(s.Timezone, "UTC")
	var text string
	switch {
	case s.IntervalMinutes > 0:
		text = fmt.Sprintf("every %d minutes", s.IntervalMinutes)
	case s.DailyTime != "":
		text = "every day at " + s.DailyTime + " " + zone
	case s.Cron != "":
		text = "cron " + s.Cron + " " + zone
	case s.At != "":
		text = "at " + s.At + " " + zone
	}
	if !next.IsZero() {
		text += ", next " + next.Format("2006-01-02 15:04")
		if s.IntervalMinutes > 0 {
			text += " " + next.Location().String()
		}
	}
	if s.FirstRun == moment.FirstNow {
		text += ", first run at once"
	}
	return text
}

// When describes a schedule in a few words, the same in every language.
func When(s *events.Schedule) string {
	zone := ""
	if s.Timezone != "" {
		zone = " " + s.Timezone
	}
	switch {
	case s.IntervalMinutes > 0:
		return fmt.Sprintf("interval %d min", s.IntervalMinutes)
	case s.DailyTime != "":
		return "daily " + s.DailyTime + zone
	case s.Cron != "":
		return "cron " + s.Cron + zone
	case s.At != "":
		return "at " + s.At + zone
	}
	return "once"
}
