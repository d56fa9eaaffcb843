package graph

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ErrFold means that another version wrote the state: throw it away and fold the log.
var ErrFold = errors.New("the state was saved by another version of the fold")

// MarshalJSON writes the saved form.
func (j *Job) MarshalJSON() ([]byte, error) { return j.View().marshal() }

// UnmarshalJSON reads the saved form. What this process had delivered is not part of it: everything is owed again.
func (j *Job) UnmarshalJSON(data []byte) error {
	fresh := empty()
	if err := json.Unmarshal(data, &fresh.State); err != nil {
		return err
	}
	if fresh.Fold != FoldVersion {
		return fmt.Errorf("%w: %d, this one is %d", ErrFold, fresh.Fold, FoldVersion)
	}
	if len(fresh.SubJobs) == 0 || fresh.SubJobs[0].ID != events.PlanID {
		return fmt.Errorf("%w: no planning node", ErrFold)
	}
	if fresh.Counts == nil {
		fresh.Counts = map[events.Status]int{}
	}
	if err := fresh.restore(); err != nil {
		return err
	}
	*j = fresh
	return nil
}

// restore derives everything that is not saved.
func (j *Job) restore() error {
	j.sent.facts = make([]bool, len(j.Facts))
	for i, in := range j.Inputs {
		in.at = i
		j.inputs[in.Request] = in
		j.attendInput(in)
	}
	for _, request := range j.Asked {
		j.inputs[request] = nil
	}
	for _, s := range j.SubJobs {
		n := &node{SubJobState: s, at: int32(len(j.nodes)), when: condition(s.When)}
		j.nodes = append(j.nodes, n)
		j.ids[s.ID] = n.at
	}
	for _, n := range j.nodes {
		for _, at := range n.Deps {
			if at < 0 || int(at) >= len(j.nodes) {
				return fmt.Errorf("%w: %s depends on node %d", ErrFold, n.ID, at)
			}
			if n.step() && n.Status != events.Legacy {
				j.nodes[at].succs = append(j.nodes[at].succs, n.at)
			}
		}
		j.attend(n)
		j.refence(n)
		if !n.step() {
			continue
		}
		j.recount(n)
		j.tally[place(n.Status)]++
		if n.Open {
			j.open++
		}
		if n.Request != "" {
			j.asking++
		}
		if n.Status == events.Ready && !n.Open && !n.blocked() {
			j.held.push(n.at)
		}
	}
	return nil
}
