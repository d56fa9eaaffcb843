package task

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Command is the key and the name of the one effect of a command expert: the command itself.
const Command = "command"

// Memory is the effects that this run, or the runs it resumes, have finished: their results by key.
type Memory map[string]events.JournalRecord

// resume is what a claim carries about the run it continues.
type resume struct {
	Of int `json:"resume_of,omitempty"`
}

// Intent is the effect that a claim announces together with itself, which saves an append.
type Intent struct {
	// Name is what the effect is; empty when the claim announces none.
	Name string
	// Safe is true when it may be repeated.
	Safe bool
}

// ClaimRecord is a claim of the run, with the first intent in it.
func (o *Order) ClaimRecord(owner string, intent Intent) events.JournalRecord {
	r := events.JournalRecord{Type: events.JournalClaimed, Run: o.Run, Owner: owner, Lease: o.Lease}
	if intent.Name != "" {
		r.Key, r.Name, r.Safe = intent.Name, intent.Name, intent.Safe
	}
	if o.ResumeOf > 0 {
		r.Data, _ = json.Marshal(resume{Of: o.ResumeOf}) // A number always marshals.
	}
	return r
}

// remember collects what the run and those it resumes have done. An intent without a result that may not be repeated, and
// about which nobody was asked yet, ends the run: it waits for a person.
func remember(o *Order, journal []Entry) (Memory, *Ending) {
	chain := lineage(o, journal)
	results := Memory{}
	open := map[string]events.JournalRecord{}
	for i := range journal {
		r := journal[i].Record
		switch {
		case r.Key == "" || !slices.Contains(chain, r.Run):
		case r.Type == events.JournalResult:
			// One with a reason is a call that failed: it has no result, and is not unknown either.
			if r.Reason == "" {
				results[r.Key] = r
			}
			delete(open, r.Key)
		case r.Type == events.JournalIntent || r.Type == events.JournalClaimed && r.Name != "":
			if _, done := results[r.Key]; !done {
				open[r.Key] = r
			}
		}
	}
	var asked []events.JournalRecord
	for _, key := range sortedKeys(open) {
		if !open[key].Safe {
			asked = append(asked, open[key])
		}
	}
	return results, resolve(o, asked, results)
}

// resolve applies the latest answer about unknown effects; the ones it does not cover are asked about.
func resolve(o *Order, unknown []events.JournalRecord, results Memory) *Ending {
	answer, answeredRun := o.verdict()
	var ask []events.JournalRecord
	for _, r := range unknown {
		switch {
		case r.Run > answeredRun || answer.Choice == "":
			ask = append(ask, r)
		case answer.Choice == choiceFail:
			e := Failure(events.CodeExecution, "the effect "+r.Name+" is declared failed", answer.Reason, "")
			return &e
		case answer.Choice == choiceSuccess:
			r.Type, r.Data = events.JournalResult, answer.Output
			results[r.Key] = r
		}
	}
	if len(ask) > 0 {
		e := o.park(ask, "The runner died at work on "+o.SubJob+".")
		return &e
	}
	if r, done := results[Command]; done && r.Name == Command {
		return &Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: r.Data, OutputRef: r.Ref}}
	}
	return nil
}

// Doubt asks a person what became of an effect that a run has made, and of which nobody knows how it ended. why is a sentence.
func Doubt(w *events.Work, effect, why string) Ending {
	o := &Order{Work: *w}
	return o.park([]events.JournalRecord{{Key: effect, Name: effect}}, why)
}

// park asks a person what became of effects whose outcome nobody knows.
func (o *Order) park(unknown []events.JournalRecord, why string) Ending {
	names := make([]string, len(unknown))
	for i, r := range unknown {
		names[i] = r.Name
		if r.Key != r.Name {
			names[i] += " " + r.Key
		}
	}
	prompt := why + " Nobody knows whether this took effect: " + strings.Join(names, ", ") +
		". Answer retry to do it again, success if it is done, fail if it did not work."
	return Ending{Park: &events.InputRequested{
		Request: o.unknownRequest(o.Run), Kind: events.InputUnknown, Prompt: cut(prompt, maxCause),
		Options: []string{choiceRetry, choiceSuccess, choiceFail}, User: o.User,
	}}
}

// lineage is the run and every run whose journal it continues, as the claims tell.
func lineage(o *Order, journal []Entry) []int {
	chain := []int{o.Run}
	for next := o.ResumeOf; next > 0 && !slices.Contains(chain, next); {
		chain = append(chain, next)
		of := 0
		for i := range journal {
			var r resume
			if rec := &journal[i].Record; rec.Run == next && rec.Type == events.JournalClaimed && json.Unmarshal(rec.Data, &r) == nil {
				of = r.Of
			}
		}
		next = of
	}
	return chain
}

func sortedKeys(m map[string]events.JournalRecord) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
