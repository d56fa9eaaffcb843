package main_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// untilQuarantined waits until the scheduler has set a job aside.
func untilQuarantined(ctx context.Context, c *client.Client, job string) error {
	watched, stop, err := c.Quarantine().Watch(ctx, job)
	if err != nil {
		return err
	}
	defer stop()
	<-watched.Done()
	if cause := context.Cause(watched); !errors.Is(cause, client.ErrQuarantined) {
		return fmt.Errorf("await quarantine of %s: %w", job, cause)
	}
	return nil
}

// awaitDead waits for the first message of a kind that is set aside, and puts its id into $DEAD.
func awaitDead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitdead KIND")
	}
	c, ctx, done := connect(ts)
	defer done()
	sub, err := c.Bus().DeadLetters().Follow(ctx, args[0])
	ts.Check(err)
	defer sub.Stop()
	list, err := sub.Next(ctx, 1)
	ts.Check(err)
	subject := list[0].Message().Subject
	ts.Setenv("DEAD", args[0]+":"+subject[strings.LastIndexByte(subject, '.')+1:])
}

func awaitEvent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 4 {
		ts.Fatalf("usage: awaitevent JOB KIND SUBJOB [RUN]")
	}
	c, ctx, done := connect(ts)
	defer done()
	for e, err := range c.Watch(ctx, args[0], 0) {
		ts.Check(err)
		if e.Kind == events.Kind(args[1]) && e.SubJob == args[2] && (len(args) == 3 || strconv.Itoa(e.Run) == args[3]) {
			return
		}
	}
	ts.Check(ctx.Err())
}

func publish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: publish SUBJECT BODY|@FILE")
	}
	body := args[1]
	if file, ok := strings.CutPrefix(body, "@"); ok {
		body = ts.ReadFile(file)
	}
	c, ctx, done := connect(ts)
	defer done()
	_, err := c.Bus().Publish(ctx, events.Message{Subject: args[0], Body: []byte(body)}, bus.Expect{})
	ts.Check(err)
}

// bare starts a bus without services.
func bare(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: bus")
	}
	server, err := embed.Start(embed.Settings{Listen: "127.0.0.1:0"})
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Stop()) })
	ts.Setenv("NATS_URL", server.URL())
}

func admitted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: admitted JOB GOAL")
	}
	c, ctx, done := connect(ts)
	defer done()
	m, err := events.Encode(c.Names(), events.Event{
		Kind: events.KindJobRequested, ID: args[0] + "/test", Job: args[0], Source: "test",
		Data: &events.JobRequested{Request: events.Request{ID: args[0], Goal: args[1]}, Rules: events.Rules{Version: events.RulesVersion}},
	})
	ts.Check(err)
	_, err = c.Bus().Publish(ctx, m, bus.ExpectNone())
	ts.Check(err)
}
