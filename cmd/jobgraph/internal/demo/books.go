package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Call is one call of a run, according to the journal.
type Call struct {
	// SubJob and Key identify it; Name is its kind.
	SubJob, Key, Name string
	// Intents counts how often it was about to be made, Results how often it returned.
	Intents, Results int
}

// String formats it for people.
func (c *Call) String() string {
	if c.Key == c.Name {
		return c.SubJob + " " + c.Name
	}
	return c.SubJob + " " + c.Key
}

// Read returns the calls of a job's SubJobs, in order.
func Read(ctx context.Context, b *bus.Bus, job string, subjobs []events.SubJob) ([]Call, error) {
	var calls []Call
	for i := range subjobs {
		list, _, err := b.Journal(job, subjobs[i].ID).Read(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			if e.Type != events.JournalIntent && e.Type != events.JournalResult {
				continue
			}
			at := slices.IndexFunc(calls, func(c Call) bool { return c.SubJob == subjobs[i].ID && c.Key == e.Key })
			if at < 0 {
				at = len(calls)
				calls = append(calls, Call{SubJob: subjobs[i].ID, Key: e.Key, Name: e.Name})
			}
			if e.Type == events.JournalIntent {
				calls[at].Intents++
			} else {
				calls[at].Results++
			}
		}
	}
	return calls, nil
}

// Counts is the cost of a kill.
type Counts struct {
	// Finished counts the calls that had a result when the runner was killed, Repeated those of them that were repeated.
	Finished int `json:"finished_calls"`
	Repeated int `json:"finished_calls_repeated"`
	// InFlight are the calls without a result. Again counts those that were repeated, which are declared safe; Settled
	// counts those about which a person was asked instead.
	InFlight []string `json:"calls_in_flight"`
	Again    []string `json:"calls_in_flight_repeated"`
	Settled  []string `json:"calls_in_flight_asked_about"`
	// Payments is what the shop received, Answers the number of the model's answers, Tokens their tokens, JobTokens what
	// the job was charged.
	Payments  int   `json:"payments"`
	Answers   int   `json:"answers_of_the_model"`
	Tokens    int   `json:"tokens_paid"`
	JobTokens int64 `json:"tokens_of_the_job"`
}

// compare counts what happened after the kill to calls made before it.
func compare(before, after []Call) Counts {
	c := Counts{InFlight: []string{}, Again: []string{}, Settled: []string{}}
	for i := range before {
		was := &before[i]
		at := slices.IndexFunc(after, func(x Call) bool { return x.SubJob == was.SubJob && x.Key == was.Key })
		again := at >= 0 && after[at].Intents > was.Intents
		switch {
		case was.Results > 0:
			c.Finished++
			if again {
				c.Repeated++
			}
		default:
			c.InFlight = append(c.InFlight, was.String())
			if again {
				c.Again = append(c.Again, was.String())
			} else {
				c.Settled = append(c.Settled, was.String())
			}
		}
	}
	return c
}

// Sound returns an error if the kill had a forbidden cost.
func (c *Counts) Sound() error {
	switch {
	case c.Repeated > 0:
		return fmt.Errorf("%d finished calls were repeated", c.Repeated)
	case c.Payments != 1:
		return fmt.Errorf("%d payments were made", c.Payments)
	case int64(c.Tokens) != c.JobTokens:
		return fmt.Errorf("the model was paid %d tokens, the job tells of %d", c.Tokens, c.JobTokens)
	}
	return nil
}
