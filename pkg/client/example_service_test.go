package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// A service sends an order with a file as a job, shows its milestones, answers its questions and takes its result. It needs a bus with a
// planner, a scheduler and the experts of the plan, so it is compiled here and not run.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour) // Connect tries until it succeeds or the context ends.
	defer cancel()
	c, err := client.Connect(ctx, bus.Options{URL: os.Getenv("NATS_URL"), Name: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if err := order(ctx, c, "order-7"); err != nil {
		fmt.Println(err) // events.Faults, if something is wrong with the request.
	}
}

func order(ctx context.Context, c *client.Client, id string) error {
	note, err := c.Attach(ctx, id, "note.txt", strings.NewReader("please gift-wrap"))
	if err != nil {
		return err
	}
	plan, err := json.Marshal(events.Plan{SubJobs: []events.SubJob{
		{ID: "approve", Goal: "Approve the order", Expert: "Approver"},
		{ID: "charge", Goal: "Charge it", Expert: "Charge", Dependencies: []string{"approve"}, When: "approve.approved"},
		{ID: "pack", Goal: "Pack it", Expert: "Pack", Dependencies: []string{"charge"}},
	}})
	if err != nil {
		return err
	}
	// The same request again is the same job; another request with its id is client.ErrConflict.
	if _, err := c.Submit(ctx, events.Request{
		ID: id, Goal: "Deliver the order", Plan: plan, Attachments: []events.Ref{note}, Labels: map[string]string{"app": "shop"},
		Inputs: map[string]json.RawMessage{"order": json.RawMessage(`7`), "cents": json.RawMessage(`500`)},
	}); err != nil {
		return err
	}
	if err := follow(ctx, c, id); err != nil {
		return err
	}
	result, err := c.Result(ctx, id)
	if err != nil {
		return err
	}
	fmt.Println(result.Status, string(result.Value), result.Error)
	for _, file := range result.Artifacts {
		if err := c.Fetch(ctx, id, file, os.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// follow answers the job's questions until it has ended. Wait is enough for a job that asks nothing.
func follow(ctx context.Context, c *client.Client, id string) error {
	for e, err := range c.Watch(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case *events.SubJobProgressed:
			fmt.Println(e.SubJob, d.Message, d.Done, d.Total)
		case *events.InputRequested: // An answer that does not fit d.Schema is followed by another question.
			err := c.Answer(ctx, id, d.Request, map[string]bool{"approved": true}, "ann")
			if err != nil && !errors.Is(err, client.ErrConflict) { // It was answered otherwise, perhaps before this service was restarted.
				return err
			}
		}
		if _, ended := client.Ended(e); ended {
			return nil
		}
	}
	return ctx.Err()
}
