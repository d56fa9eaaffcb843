package run

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A person's answers about an effect with an unknown outcome.
const (
	Retry   = "retry"   // It did not happen and must be repeated.
	Success = "success" // It happened; its result may be included.
	Fail    = "fail"    // It did not happen and must not be repeated.
)

// unknownMark distinguishes the question about unknown outcomes from a run's other questions.
const unknownMark = "unknown"

// verdict is an answer about unknown outcomes.
type verdict struct {
	Choice string          `json:"choice"`
	Output json.RawMessage `json:"output"`
	Reason string          `json:"reason"`
	// Effects are answers about single effects, by key.
	Effects map[string]verdict `json:"effects"`
}

// UnknownRequest returns the id of a run's question about unknown outcomes.
func UnknownRequest(subjob string, run int) string { return RequestID(subjob, run, unknownMark) }

// Answer applies people's answers about unknown outcomes; answers are those of the work message, by request id. A question
// covers the outcomes that were unknown when it was asked: the first answer after an intent counts, and an answer that is
// not one of the choices is ignored. A question that is missing in the journal counts as asked at the end of its run.
func (x *Effects) Answer(subjob string, answers map[string]events.InputClosed) {
	asked := map[int]events.InputClosed{}
	for request, closed := range answers { // any order: the requests of one run differ.
		if run := askedBy(subjob, request); run > 0 {
			asked[run] = closed
		}
	}
	runs := slices.Sorted(maps.Keys(asked))
	found := make([]Resolution, len(x.Unresolved))
	for i, u := range x.Unresolved {
		for _, run := range runs {
			v := readVerdict(asked[run], u.Intent.Key)
			seq, kept := x.asked[run]
			if run >= u.Intent.Run && (!kept || u.Seq < seq) && v.Choice != "" {
				found[i] = v.resolution(asked[run].By)
				break
			}
		}
	}
	x.Settle(found)
}

// resolution returns the meaning of an answer.
func (v verdict) resolution(by string) Resolution {
	f := Resolution{Result: v.Output, Reason: v.Reason}
	if by != "" {
		f.Reason = strings.TrimSpace(by + " says so. " + v.Reason)
	}
	switch v.Choice {
	case Success:
		f.State = Done
	case Retry:
		f.State = NotDone
	default:
		f.State = Failed
	}
	return f
}

// askedBy returns the run of a SubJob that asked about unknown outcomes under the id; 0 for another request.
func askedBy(subjob, request string) int {
	rest, ok := strings.CutSuffix(request, "~"+unknownMark)
	if !ok {
		return 0
	}
	run, err := strconv.Atoi(rest[strings.LastIndexByte(rest, '~')+1:])
	if err != nil || request != UnknownRequest(subjob, run) {
		return 0
	}
	return run
}

// readVerdict parses the answer about one effect: a word or an object for all effects, or an object by key. Choice is empty
// for anything else.
func readVerdict(c events.InputClosed, key string) verdict {
	var v verdict
	if json.Unmarshal(c.Answer, &v.Choice) != nil {
		v = verdict{}
		_ = json.Unmarshal(c.Answer, &v) // An unreadable answer has no choice.
		if own, ok := v.Effects[key]; ok {
			v = own
		}
	}
	v.Choice = strings.ToLower(strings.TrimSpace(v.Choice))
	switch v.Choice {
	case Retry, Success, Fail:
		return v
	}
	if c.Action != events.Answered {
		return verdict{Choice: Fail, Reason: "the question about it was " + string(c.Action)}
	}
	return verdict{}
}
