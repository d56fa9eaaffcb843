package graph

import (
	"strconv"
	"strings"
)

// The timers of a job. Their ids are "<kind>~<SubJob or request>~<number>"; the number is the run, epoch or turn that they belong
// to, so that a timer that fires late is recognised as stale.
const (
	timerRetry    = "retry"
	timerFence    = "fence"
	timerTimeout  = "timeout"
	timerInput    = "input"
	timerDeadline = "deadline"
	timerReap     = "reap"
	timerTurn     = "turn"
)

// TurnTimer returns the id of a timer that changes nothing. Its firing is an event, at which the owner of the job looks at its
// pending commands: so a job with waiting work continues even if its scheduler has died.
func TurnTimer() string { return timerID(timerTurn, "", 0) }

// ReapTimer returns the id of the timer that fires when the retention of a job that ended with this turn has passed.
func ReapTimer(turn int) string { return timerID(timerReap, "", turn) }

func timerID(kind, of string, number int) string {
	return kind + "~" + of + "~" + strconv.Itoa(number)
}

func parseTimer(id string) (kind, of string, number int) {
	kind, rest, _ := strings.Cut(id, "~")
	cut := strings.LastIndexByte(rest, '~')
	if cut < 0 {
		return kind, "", -1
	}
	number, err := strconv.Atoi(rest[cut+1:])
	if err != nil {
		return kind, "", -1
	}
	return kind, rest[:cut], number
}
