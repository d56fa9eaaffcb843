package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// probe is the order for a workload in a separate process: cancel, wait, plan, tool, agents, burst or gateway.
type probe struct {
	Workload string     `json:"workload"`
	Size     int        `json:"size"`
	Under    Conditions `json:"under"`
	Profile  string     `json:"profile,omitempty"`
	// Act selects one part of a workload that consists of several.
	Act string `json:"act,omitempty"`
	log *slog.Logger
}

// run measures in this process.
func (p probe) run(ctx context.Context, self []string) ([]Measure, error) {
	switch p.Workload {
	case "cancel":
		return p.cancel(ctx, self)
	case "wait":
		return p.wait(ctx, self)
	case "plan":
		return p.plan(ctx)
	case "tool":
		return p.tool(ctx)
	case "agents":
		return p.agents(ctx, self)
	case "burst":
		return p.burst(ctx, self)
	case "gateway":
		return p.gateway(ctx, self)
	}
	return nil, fmt.Errorf("workload %q is no probe", p.Workload)
}

// on raises the stage of a scene, runs f on it if its system is Jobgraph, and strikes it.
func (p probe) on(ctx context.Context, c scene, f func(ctx context.Context, s *stage, d *oursDriver) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	c.under, c.profile, c.log, c.fail = p.Under, p.Profile, p.log, fail
	s, err := raise(ctx, c)
	if err != nil {
		return err
	}
	if d, ok := s.driver.(*oursDriver); ok {
		err = f(ctx, s, d)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause // Other errors follow from it.
	}
	return errors.Join(err, s.strike())
}

// inquire runs a probe in a child process.
func inquire(ctx context.Context, self []string, p probe) ([]Measure, error) {
	cmd, err := child(ctx, self, "probe", p)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	var list []Measure
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read probe: %w", err)
	}
	return list, nil
}
