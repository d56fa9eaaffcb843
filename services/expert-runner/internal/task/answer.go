package task

import (
	"encoding/json"
	"maps"
	"slices"
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
	// Effects are answers about single effects, by key.
	Effects map[string]verdict `json:"effects"`
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

// told gives what people have answered about doubts, a finding for each. A question covers what was in doubt when it was
// asked: the first answer behind an intent counts, one that is none of the choices for nothing. questions has the sequence
// under which the journal keeps the question of a run; one that it does not keep was asked last in its run.
func (o *Order) told(doubts []Unsettled, questions map[int]uint64) []Finding {
	asked := map[int]events.InputClosed{}
	for request, closed := range o.Answers { // any order: no two requests of one run are alike.
		if run := o.askedBy(request); run > 0 {
			asked[run] = closed
		}
	}
	runs := slices.Sorted(maps.Keys(asked))
	found := make([]Finding, len(doubts))
	for i, d := range doubts {
		for _, run := range runs {
			v := readVerdict(asked[run], d.Intent.Key)
			seq, kept := questions[run]
			if run >= d.Intent.Run && (!kept || d.Seq < seq) && v.Choice != "" {
				found[i] = v.finding(asked[run].By)
				break
			}
		}
	}
	return found
}

// finding is what an answer means.
func (v verdict) finding(by string) Finding {
	f := Finding{Result: v.Output, Reason: v.Reason}
	if by != "" {
		f.Reason = strings.TrimSpace(by + " says so. " + v.Reason)
	}
	switch v.Choice {
	case choiceSuccess:
		f.State = Done
	case choiceRetry:
		f.State = NotDone
	default:
		f.State = Failed
	}
	return f
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

// readVerdict reads the answer about one effect: a word or an object for all of them, or an object by key. Choice is empty for
// what is none of the choices.
func readVerdict(c events.InputClosed, key string) verdict {
	var v verdict
	if json.Unmarshal(c.Answer, &v.Choice) != nil {
		v = verdict{}
		_ = json.Unmarshal(c.Answer, &v) // What cannot be read is no choice.
		if own, ok := v.Effects[key]; ok {
			v = own
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
