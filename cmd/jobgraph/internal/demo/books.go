package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Call is one call of a run, as the journal tells.
type Call struct {
	// SubJob and Key name it, Name says what it is.
	SubJob, Key, Name string
	// Intents are how often it was about to be made, Results how often something came back.
	Intents, Results int
}

// String is how people read it.
func (c *Call) String() string {
	if c.Key == c.Name {
		return c.SubJob + " " + c.Name
	}
	return c.SubJob + " " + c.Key
}

// Read gives the calls of the SubJobs of a job, in order.
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

// Counts are what a kill has cost.
type Counts struct {
	// Finished are the calls that had their result when the runner was killed, Repeated those of them that were made again.
	Finished int `json:"finished_calls"`
	Repeated int `json:"finished_calls_repeated"`
	// InFlight are those that had none, Again those of them that were made again, which are declared safe; Settled those about
	// which a person was asked instead.
	InFlight []string `json:"calls_in_flight"`
	Again    []string `json:"calls_in_flight_repeated"`
	Settled  []string `json:"calls_in_flight_asked_about"`
	// Payments is what the shop was paid, Answers what the model has answered, and Tokens what that took; JobTokens is what the
	// job was charged.
	Payments  int   `json:"payments"`
	Answers   int   `json:"answers_of_the_model"`
	Tokens    int   `json:"tokens_paid"`
	JobTokens int64 `json:"tokens_of_the_job"`
}

// compare counts what came behind the kill of calls that were made before it.
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

// Sound is an error when the kill has cost what it must not.
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
