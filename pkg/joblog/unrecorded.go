package joblog

import (
	"iter"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// SaidIn returns what an event tells people and, if it is about a SubJob that was handed off, what it adds to that SubJob's own
// session. The state already contains the event.
func SaidIn(state *graph.Job, e *events.Event) (items []item.Item, child string, own []item.Item) {
	subjob := e.SubJob
	if moved, ok := e.Data.(*events.SessionMoved); ok {
		subjob = moved.SubJob
	}
	child, title := state.Handed(subjob)
	job := Job{Goal: state.Goal, Schedule: state.Labels[schedule.Label], Expert: func(subjob string) string {
		_, expert := state.Address(subjob)
		return expert
	}}
	if e.Kind == events.KindSubJobReported {
		job.Steps = state.Size()
		if child != "" {
			job.Steps = max(2, job.Steps) // In its own session it is the result.
		}
	}
	items = Said(e, job)
	if child == "" {
		return items, "", nil
	}
	if e.Kind == events.KindSessionStarted {
		if title == "" {
			title = state.Goal
		}
		own = append(own, item.Item{Type: item.Message, ID: "request", At: e.Time.UTC(), Job: e.Job, SubJob: subjob, User: state.User, Text: title, Done: true})
	}
	return items, child, append(own, items...)
}

// identity is what two items have in common if one replaces the other.
type identity struct {
	job, subjob, id string
	run             int
}

func identityOf(i *item.Item) identity { return identity{i.Job, i.SubJob, i.ID, i.Run} }

// Latest returns the items of a conversation without those that later ones replace.
func Latest(list []item.Entry) []item.Entry {
	last := make(map[identity]int, len(list))
	for i := range list {
		last[identityOf(&list[i].Item)] = i
	}
	kept := make([]item.Entry, 0, len(last))
	for i := range list {
		if last[identityOf(&list[i].Item)] == i {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// CatchUp appends to a session's conversation what the logs of its jobs say and what is not recorded yet: a scheduler records items
// only when it saves a job. earlier is true if the conversation has items before the given ones. Jobs are the latest that have not
// ended; log returns the events of one, with plans resolved.
func CatchUp(recorded []item.Entry, earlier bool, jobs []string, log func(job string) iter.Seq2[events.Event, error]) ([]item.Entry, error) {
	all := slices.Clip(recorded)
	for _, job := range jobs[max(0, len(jobs)-maxCatchUp):] {
		more, err := unrecorded(recorded, job, log(job))
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			if !earlier || !e.At.Before(recorded[0].At) {
				all = append(all, e)
			}
		}
	}
	if len(all) > len(recorded) {
		slices.SortStableFunc(all, func(a, b item.Entry) int { return a.At.Compare(b.At) })
	}
	return all, nil
}

// maxCatchUp bounds the jobs whose logs are read for what is not recorded yet, maxUnrecorded the events of each.
const (
	maxCatchUp    = 8
	maxUnrecorded = 2000
)

// unrecorded returns what the log of a job says after its last recorded item.
func unrecorded(recorded []item.Entry, job string, log iter.Seq2[events.Event, error]) ([]item.Entry, error) {
	have := map[identity]bool{}
	for i := range recorded {
		if recorded[i].Job == job {
			have[identityOf(&recorded[i].Item)] = true
		}
	}
	var state *graph.Job
	var list []item.Entry
	read := 0
	for e, err := range log {
		if err != nil {
			return nil, err
		}
		if read++; read > maxUnrecorded {
			break
		}
		if state == nil {
			if state, err = graph.New(e); err != nil {
				return nil, nil // The scheduler will record it.
			}
		} else if state.Step(e).Verdict != graph.Applied {
			continue
		}
		items, _, _ := SaidIn(state, &e)
		for i := range items {
			if have[identityOf(&items[i])] {
				list = nil // Items before a recorded one are recorded as well.
				continue
			}
			list = append(list, item.Entry{Item: items[i]})
		}
	}
	return list, nil
}
