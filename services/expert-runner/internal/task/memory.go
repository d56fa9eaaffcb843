package task

import (
	"encoding/json"
	"slices"

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

// remember collects what the run and those it resumes have done, and what is in doubt: an intent without a result that may
// not be repeated unseen, of whatever run. What people have answered about it is taken in.
func (d *Decision) remember(o *Order, journal []Entry) {
	runs := lineage(o, journal)
	d.Memory = Memory{}
	var l ledger
	intents := map[effect]events.JournalRecord{}
	var declared []events.JournalRecord
	for i := range journal {
		e := &journal[i]
		r := &e.Record
		mine := slices.Contains(runs, r.Run)
		_, _, stray := strayOf(r.Key)
		switch {
		case r.Type == events.JournalResult && stray:
			if mine {
				declared = append(declared, *r)
			}
		case r.Type == events.JournalResult && r.Key != "":
			// One with a reason is a call that failed: it has no result, and is not unknown either.
			if r.Reason == "" && mine {
				d.Memory[r.Key] = *r
			}
			l.add(e)
		case announces(r):
			intents[effect{r.Run, r.Key}] = *r
			if _, done := d.Memory[r.Key]; done && mine {
				continue // It is answered from what is known.
			}
			l.add(e)
		default:
			l.add(e)
		}
	}
	for _, r := range declared {
		run, key, _ := strayOf(r.Key)
		d.know(r, intents[effect{run, key}])
	}
	for _, u := range l.open {
		if !u.Intent.Safe {
			u.Stray = !slices.Contains(runs, u.Intent.Run)
			d.Doubts = append(d.Doubts, u)
		}
	}
	sortDoubts(d.Doubts)
	d.Settle(o, o.told(d.Doubts, l.asked))
}

// effect names the effects within a SubJob that have one key in one run.
type effect struct {
	run int
	key string
}

// lineage is the run and every run whose journal it continues, as the claims tell.
func lineage(o *Order, journal []Entry) []int { return chain(journal, o.Run, o.ResumeOf) }

// Lineage is lineage for a run that has claimed.
func Lineage(journal []Entry, run int) []int { return chain(journal, run, resumed(journal, run)) }

func chain(journal []Entry, run, next int) []int {
	list := []int{run}
	for next > 0 && !slices.Contains(list, next) {
		list = append(list, next)
		next = resumed(journal, next)
	}
	return list
}

// resumed is the run that a run continues, as its claims tell; 0 for none.
func resumed(journal []Entry, run int) int {
	of := 0
	for i := range journal {
		var r resume
		if rec := &journal[i].Record; rec.Run == run && rec.Type == events.JournalClaimed && json.Unmarshal(rec.Data, &r) == nil {
			of = r.Of
		}
	}
	return of
}
