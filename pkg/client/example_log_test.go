package client_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/jobtest"
)

// reports is a client of a bus on which the named jobs have run: each reads and then writes. Package jobtest plays planner,
// scheduler and experts.
func reports(ctx context.Context, ids ...string) (c *client.Client, stop func(), err error) {
	o, stop, err := embedded()
	if err != nil {
		return nil, nil, err
	}
	if c, err = client.Connect(ctx, o); err == nil {
		err = c.Bus().Streams().Init(ctx)
	}
	for _, id := range ids {
		if err == nil {
			err = report(ctx, c, id)
		}
	}
	return c, stop, err
}

func report(ctx context.Context, c *client.Client, id string) error {
	r, err := jobtest.Script{
		Request: events.Request{ID: id, Goal: "Report on " + id},
		Plan: &events.Plan{SubJobs: []events.SubJob{
			{ID: "read", Goal: "Read the sources", Expert: "reader"},
			{ID: "write", Goal: "Write a page", Expert: "writer", Dependencies: []string{"read"}},
		}},
		Default: func(w events.Work) events.SubJobReported {
			done := jobtest.Succeed(strings.ToUpper(w.SubJob) + " " + w.Job)
			done.Tokens = int64(100 * len(w.Job))
			return done
		},
	}.Run()
	for i := range r.Events {
		m, encodeErr := events.Encode(c.Names(), r.Events[i])
		if err = encodeErr; err == nil {
			_, err = c.Bus().Publish(ctx, m, bus.Expect{})
		}
		if err != nil {
			return err
		}
	}
	return err
}

// The writer did badly: a new job keeps what was read, and lets another model write a longer text.
func ExampleClient_Fork() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	made, err := c.Fork(ctx, "tides", joblog.Fork{ID: "tides-2", Before: "write", Model: "large", Prompt: "Write three pages"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Request.ID, "keeps", made.Kept, "of", made.Total, "results of", made.From)
	// Output: tides-2 keeps 1 of 2 results of tides
}

// A program stops at the first job whose result differs from that of the one before.
func ExampleClient_Diff() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides", "moon")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	d, err := c.Diff(ctx, "tides", "moon")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("same:", d.Same(), "same plan:", d.Plan.Empty())
	for _, x := range d.SubJobs {
		fmt.Println(x.SubJob, x.Fields, x.A.Tokens, x.B.Tokens, string(x.A.Result), string(x.B.Result))
	}
	// Output:
	// same: false same plan: true
	// read [tokens result] 500 400 "READ tides" "READ moon"
	// write [tokens result] 500 400 "WRITE tides" "WRITE moon"
}

// A result lasts as long as its job.
func ExampleClient_Result() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	r, err := c.Result(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status, string(r.Value))
	// Output: FINISHED "WRITE tides"
}

// An edit changes the goal of a SubJob and makes it run again with everything that depends on it. A scheduler issues the work.
func ExampleClient_Rerun() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	if err := c.Rerun(ctx, "tides", events.RerunRequested{SubJob: "write", Edit: []byte(`{"goal":"Write in verse"}`)}); err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Logs().SubJob(ctx, "tides", "write")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.State.Status, s.Spec.Goal)
	// Output: READY Write in verse
}

// Everything known about a SubJob: its text as planned and edited, and its result.
func ExampleLogs_SubJob() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	s, err := c.Logs().SubJob(ctx, "tides", "read")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Spec.Goal, "by", s.State.Expert, "gave", string(s.Output))
	// Output: Read the sources by reader gave "READ tides"
}

// A job as it stood at any event of its log.
func ExampleLogs_Fold() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, stop, err := reports(ctx, "tides")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	defer c.Close()
	now, err := c.Logs().Fold(ctx, "tides", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	then, err := c.Logs().Fold(ctx, "tides", now.Node("read").ResultSeq)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, log := range []*joblog.Log{then, now} {
		s := log.Job.View()
		fmt.Printf("%s, %d of %d done\n", s.Status, s.Progress.Done, s.Progress.Total)
	}
	// Output:
	// RUNNING, 1 of 2 done
	// FINISHED, 2 of 2 done
}
