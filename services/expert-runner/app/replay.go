package app

import (
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
)

// Replay is the result of replaying an agent's conversation from its journal.
type Replay = agent.Replay

// ReplayPart is one of its conversations.
type ReplayPart = agent.ReplayPart

// How a replay ended, see agent.Replay.
const (
	ReplaySame     = agent.ReplaySame
	ReplayDiverged = agent.ReplayDiverged
	ReplayOpen     = agent.ReplayOpen
)

// ReplayAgents replays the agents' conversations in the journals of an export: all of them, or those of one SubJob. It
// needs no bus, model, tool or card. Errors: *events.Fault if there is nothing to replay, and client.ErrExport.
func ReplayAgents(x *client.Export, subjob string) ([]*Replay, error) {
	answers, err := answered(x)
	if err != nil {
		return nil, err
	}
	var list []*Replay
	for _, id := range x.Journaled() {
		if id == events.PlanID || id == events.FinalID || subjob != "" && id != subjob {
			continue // Consult requests of planners are not conversations of an agent.
		}
		rec := &agent.Recording{SubJob: id, Journal: x.Journal(id), Answers: answers, Blob: func(ref events.Ref) ([]byte, error) {
			data, found := x.Blobs[ref.Digest]
			if !found {
				return nil, fmt.Errorf("%w: blob %s is not in the file", client.ErrExport, ref.Digest)
			}
			return data, nil
		}}
		for _, run := range rec.Conversations() {
			r, err := rec.Replay(run)
			if errors.Is(err, agent.ErrNoBeginning) && subjob == "" {
				continue
			}
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	if list == nil {
		return nil, nothing(x, subjob)
	}
	return list, nil
}

// nothing returns an error that says why there is no conversation.
func nothing(x *client.Export, subjob string) error {
	f := &events.Fault{
		Code: events.CodeNotFound, Field: "journal", Message: "job " + x.Job + " has no journal of an agent's conversation",
		Hint: "experts of kind llm have one, from their first answer on; exports of versions before have none",
	}
	if subjob != "" {
		f.Message = fmt.Sprintf("SubJob %s of job %s has no journal of an agent's conversation", subjob, x.Job)
	}
	return f
}

// answered returns the answers of people, by request.
func answered(x *client.Export) (map[string]events.InputClosed, error) {
	answers := map[string]events.InputClosed{}
	for e, err := range x.Events() {
		if err != nil {
			return nil, err
		}
		if closed, is := e.Data.(*events.InputClosed); is {
			answers[e.Key] = *closed
		}
	}
	return answers, nil
}
