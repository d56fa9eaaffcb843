package main_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/pkg/client"
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
