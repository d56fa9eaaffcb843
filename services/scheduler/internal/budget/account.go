package budget

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// mostEntries bounds the jobs that an account lists separately. Beyond it those that spent least recently are summed up; if one of
// them spent again, its earlier spending would be counted twice.
const mostEntries = 1000

// account is what the jobs of one session, or a share of those of one day, have spent, as readable JSON.
type account struct {
	// Earlier is the sum of jobs that are no longer listed separately.
	Earlier events.Spent `json:"earlier,omitzero"`
	// Entries are the jobs; Count is the number of changes, which orders them.
	Entries map[string]entry `json:"entries"`
	Count   int              `json:"count"`
}

// entry is one job: what it had spent when the account first listed it, and what it has spent in total.
type entry struct {
	Before events.Spent `json:"before,omitzero"`
	Spent  events.Spent `json:"spent"`
	Change int          `json:"change"`
}

func read(value []byte) *account {
	a := &account{}
	if json.Unmarshal(value, a) != nil || a.Entries == nil {
		a = &account{Entries: map[string]entry{}} // There is no account yet, or the value is not one.
	}
	return a
}

// note enters what a job has spent. It reports whether that changes anything: a job never spends less than before.
func (a *account) note(job string, before, spent events.Spent) bool {
	e, known := a.Entries[job]
	if !known {
		e.Before = before
	}
	next := events.Spent{Tokens: max(e.Spent.Tokens, spent.Tokens), CostUSD: max(e.Spent.CostUSD, spent.CostUSD)}
	if next == e.Spent || !known && next == before {
		return false
	}
	a.Count++
	e.Spent, e.Change = next, a.Count
	a.Entries[job] = e
	a.compact()
	return true
}

// sum returns what all jobs have spent in the account's time.
func (a *account) sum() events.Spent {
	total := a.Earlier
	for _, job := range a.jobs() {
		total = graph.AddSpent(total, a.Entries[job].own())
	}
	return total
}

// own returns what a job has spent since the account listed it.
func (e entry) own() events.Spent {
	return events.Spent{Tokens: max(0, e.Spent.Tokens-e.Before.Tokens), CostUSD: max(0, e.Spent.CostUSD-e.Before.CostUSD)}
}

// jobs lists the jobs in the order of their last change.
func (a *account) jobs() []string {
	list := make([]string, 0, len(a.Entries))
	for job := range a.Entries {
		list = append(list, job)
	}
	slices.SortFunc(list, func(x, y string) int {
		return cmp.Or(a.Entries[x].Change-a.Entries[y].Change, strings.Compare(x, y))
	})
	return list
}

// compact sums up the older half of an account that has grown too long.
func (a *account) compact() {
	if len(a.Entries) <= mostEntries {
		return
	}
	for _, job := range a.jobs()[:len(a.Entries)/2] {
		a.Earlier = graph.AddSpent(a.Earlier, a.Entries[job].own())
		delete(a.Entries, job)
	}
}
