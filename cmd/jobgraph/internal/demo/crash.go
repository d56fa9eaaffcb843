package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Job is the id of Crash's job.
const Job = "order-7"

// Lease is how long the claim of a killed runner holds in Crash.
const Lease = 2 * time.Second

// Crash kills a runner in the middle of its calls. Bus, planner and scheduler must be running, with the cards.
type Crash struct {
	// Client is connected to the bus.
	Client *client.Client
	// World serves the calls of the runners and can hold them.
	World *World
	// Runner is the command line of a runner, Env its environment, Errors its standard error.
	Runner []string
	Env    []string
	Errors io.Writer
	// Note prints a line about what happens.
	Note func(format string, args ...any)
	// Follow shows the job until its end and returns the tokens that it was charged.
	Follow func(ctx context.Context) (tokens int64, err error)
}

// held is how many calls the world holds before the runner is killed.
const held = 2

// Run plays the crash. It returns an error if the counts are not as required.
func (c *Crash) Run(ctx context.Context) (counts Counts, err error) {
	one, err := c.start(ctx)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, end(one)) }()
	c.Note("a bus, a planner and a scheduler are in this process; a runner is process %d; a scripted model and a shop answer slowly", one.Process.Pid)
	plan, err := json.Marshal(Plan())
	if err != nil {
		return counts, err
	}
	request := events.Request{ID: Job, Goal: "An order", Plan: plan, Inputs: map[string]json.RawMessage{"order": json.RawMessage(`7`)}}
	if _, err := c.Client.Submit(ctx, request); err != nil {
		return counts, err
	}
	for range held {
		select {
		case <-c.World.Caught:
		case <-ctx.Done():
			return counts, context.Cause(ctx)
		}
	}
	if err := end(one); err != nil {
		return counts, err
	}
	before, err := Read(ctx, c.Client.Bus(), Job, Plan().SubJobs)
	if err != nil {
		return counts, err
	}
	c.World.Release()
	c.Note("kill -9 %d: the model was at its second answer, and the shop had taken the payment without having said so", one.Process.Pid)
	two, err := c.start(ctx)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, end(two)) }()
	c.Note("process %d is another runner: it goes on when the lease of %s has passed", two.Process.Pid, Lease)
	return c.finish(ctx, before)
}

// finish waits for the end of the job and compares the books with those before the crash.
func (c *Crash) finish(ctx context.Context, before []Call) (Counts, error) {
	charged, err := c.Follow(ctx)
	if err != nil {
		return Counts{}, err
	}
	after, err := Read(ctx, c.Client.Bus(), Job, Plan().SubJobs)
	if err != nil {
		return Counts{}, err
	}
	counts := compare(before, after)
	counts.JobTokens = charged
	counts.Answers, counts.Tokens, counts.Payments = c.World.Books()
	return counts, counts.Sound()
}

// start starts a runner as a separate process.
func (c *Crash) start(ctx context.Context) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, c.Runner[0], c.Runner[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, io.Discard, c.Errors
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a runner: %w", err)
	}
	return cmd, nil
}

// end kills a runner unless it has ended, and waits for it.
func end(cmd *exec.Cmd) error {
	if cmd.ProcessState != nil {
		return nil
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill a runner: %w", err)
	}
	_ = cmd.Wait() // It was killed, so it returns an error.
	return nil
}
