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

// awaitDead waits for the first dead letter of a kind, and puts its id into $DEAD.
func awaitDead(s *script, args []string) {
	sub, err := s.Bus().DeadLetters().Follow(s.ctx, args[0])
	s.Check(err)
	defer sub.Stop()
	list, err := sub.Next(s.ctx, 1)
	s.Check(err)
	_, id, _ := strings.Cut(list[0].Message().Subject, ".dlq.")
	s.Setenv("DEAD", strings.ReplaceAll(id, ".", ":"))
}

func awaitEvent(s *script, args []string) {
	for e, err := range s.Watch(s.ctx, args[0], 0) {
		s.Check(err)
		if e.Kind == events.Kind(args[1]) && e.SubJob == args[2] && (len(args) == 3 || strconv.Itoa(e.Run) == args[3]) {
			return
		}
	}
	s.Check(s.ctx.Err())
}

func publish(s *script, args []string) {
	body := args[1]
	if file, ok := strings.CutPrefix(body, "@"); ok {
		body = s.ReadFile(file)
	}
	_, err := s.Bus().Publish(s.ctx, events.Message{Subject: args[0], Body: []byte(body)}, bus.Expect{})
	s.Check(err)
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

func admitted(s *script, args []string) {
	m, err := events.Encode(s.Names(), events.Event{
		Kind: events.KindJobRequested, ID: args[0] + "/test", Job: args[0], Source: "test",
		Data: &events.JobRequested{Request: events.Request{ID: args[0], Goal: args[1]}, Rules: events.Rules{Version: events.RulesVersion}},
	})
	s.Check(err)
	_, err = s.Bus().Publish(s.ctx, m, bus.ExpectNone())
	s.Check(err)
}
