package run

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// What a person can answer about an effect with an unknown outcome.
const (
	Retry   = "retry"   // It did not happen, and is to be done.
	Success = "success" // It did; what it gave may be told.
	Fail    = "fail"    // It did not, and is not to be done.
)

// unknownMark tells the question about unknown outcomes from a run's other questions.
const unknownMark = "unknown"

// verdict is an answer about unknown outcomes.
type verdict struct {
	Choice string          `json:"choice"`
	Output json.RawMessage `json:"output"`
	Reason string          `json:"reason"`
	// Effects are answers about single effects, by key.
	Effects map[string]verdict `json:"effects"`
}

// UnknownRequest is the id of the question about the unknown outcomes that a run has found.
func UnknownRequest(subjob string, run int) string { return RequestID(subjob, run, unknownMark) }

// Answer takes in what people have answered about unknown outcomes; answers are those of the work message, by request id. A
// question covers what was unknown when it was asked: the first answer behind an intent counts, and one that is none of the
// choices counts for nothing. A question that the journal does not keep was asked last in its run.
func (x *Effects) Answer(subjob string, answers map[string]events.InputClosed) {
	asked := map[int]events.InputClosed{}
	for request, closed := range answers { // any order: no two requests of one run are alike.
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

// resolution is what an answer means.
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

// askedBy is the run of a SubJob that has asked about unknown outcomes under the id; 0 for another request.
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
	case Retry, Success, Fail:
		return v
	}
	if c.Action != events.Answered {
		return verdict{Choice: Fail, Reason: "the question about it was " + string(c.Action)}
	}
	return verdict{}
}
