package task

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// What a person can say about an effect whose outcome is unknown.
const (
	choiceRetry   = "retry"
	choiceSuccess = "success"
	choiceFail    = "fail"
)

const unknownMark = "unknown"

// verdict is an answer about unknown effects.
type verdict struct {
	Choice string          `json:"choice"`
	Output json.RawMessage `json:"output"`
	Reason string          `json:"reason"`
}

// unknownRequest is the id of the question about the unknown effects that a run found.
func (o *Order) unknownRequest(run int) string { return RequestID(o.SubJob, run, unknownMark) }

// RequestID is the id under which a run asks for something, which mark tells from its other questions.
func RequestID(subjob string, run int, mark string) string {
	id := subjob + "~" + strconv.Itoa(run) + "~" + mark
	if events.ValidToken(id) {
		return id
	}
	// The id is at its longest. Its end tells SubJobs of one splice apart.
	return id[len(id)-500:]
}

// verdict finds the latest answer about unknown effects and the run that asked; run is 0 when nobody has answered. An
// answer that is none of the choices leaves Choice empty, so that the question is asked again.
func (o *Order) verdict() (v verdict, run int) {
	for request, closed := range o.Answers { // any order: no two requests of one run are alike, and the latest run wins.
		asked := o.askedBy(request)
		if asked <= run {
			continue
		}
		run, v = asked, readVerdict(closed)
	}
	return v, run
}

func (o *Order) askedBy(request string) int {
	rest, ok := strings.CutSuffix(request, "~"+unknownMark)
	if !ok {
		return 0
	}
	run, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '~')+1:])
	if err != nil || request != o.unknownRequest(run) {
		return 0
	}
	return run
}

func readVerdict(c events.InputClosed) verdict {
	var v verdict
	if json.Unmarshal(c.Answer, &v.Choice) != nil {
		v = verdict{}
		if json.Unmarshal(c.Answer, &v) != nil && c.Action == events.Answered {
			return verdict{}
		}
	}
	v.Choice = strings.ToLower(strings.TrimSpace(v.Choice))
	switch v.Choice {
	case choiceRetry, choiceSuccess, choiceFail:
		return v
	}
	if c.Action != events.Answered {
		return verdict{Choice: choiceFail, Reason: "the question about it was " + string(c.Action)}
	}
	return verdict{}
}
