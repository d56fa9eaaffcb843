package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
)

// trial is one measurement; as JSON it is the order for a child process.
type trial struct {
	Side string `json:"side"`
	// DAG is the file of a user's own graph, which runs Size of Shape times; empty for the graphs of Shape.
	DAG   string     `json:"dag,omitempty"`
	Shape Shape      `json:"shape"`
	Under Conditions `json:"under"`
	// Profile is a folder for a CPU profile per process, empty for none.
	Profile string `json:"profile,omitempty"`
	// Again is how often the graphs run in sequence, all measured together; 0 means once.
	Again int `json:"again,omitempty"`
	// Before is how many jobs of one SubJob have ended in the store before the measurement.
	Before int `json:"before,omitempty"`
	// Warm runs the graphs once before the measurement, so that fresh processes are not measured.
	Warm bool `json:"warm,omitempty"`
	// Secure gives each part a key and a role on the bus.
	Secure bool `json:"secure,omitempty"`
	log    *slog.Logger
}

// beforeAtOnce is how many of the jobs of Before run at once.
const beforeAtOnce = 2000

// run runs the measurement in this process or, with self, in separate processes.
func (t trial) run(ctx context.Context, self []string) (Sample, error) {
	var s Sample
	graphs, err := t.graphs()
	if err != nil {
		return s, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stage, err := raise(ctx, scene{side: t.Side, under: t.Under, profile: t.Profile, secure: t.Secure, self: self, log: t.log, fail: fail})
	if err != nil {
		return s, err
	}
	if err = t.warm(ctx, stage, graphs); err == nil {
		s, err = t.measure(ctx, stage, graphs)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause // Other errors follow from it.
	}
	return s, errors.Join(err, stage.strike())
}

// graphs returns the graphs of the shape, or the user's graph as often as the size says.
func (t trial) graphs() ([]baseline.Graph, error) {
	if t.DAG == "" {
		return t.Shape.Graphs()
	}
	g, err := readDAG(t.DAG)
	return slices.Repeat([]baseline.Graph{g}, t.Shape.Size), err
}

// warm runs what must precede the measurement: at least one job, so that every part is running and connected.
func (t trial) warm(ctx context.Context, on *stage, graphs []baseline.Graph) error {
	if err := on.driver.run(ctx, "warm", []baseline.Graph{{nil}}); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if t.Warm {
		if err := on.driver.run(ctx, "first", graphs); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	for done := 0; done < t.Before; done += beforeAtOnce {
		some := make([]baseline.Graph, min(beforeAtOnce, t.Before-done))
		for i := range some {
			some[i] = baseline.Graph{nil}
		}
		if err := on.driver.run(ctx, fmt.Sprintf("before%d", done), some); err != nil {
			return fmt.Errorf("run earlier jobs: %w", err)
		}
	}
	return on.reader.settled(ctx)
}

func (t trial) measure(ctx context.Context, on *stage, graphs []baseline.Graph) (Sample, error) {
	s := Sample{Side: t.Side, SubJobs: nodes(graphs) * max(1, t.Again)}
	stored, err := on.driver.writes(ctx)
	if err != nil {
		return s, err
	}
	disk := diskUse(on.store)
	taken, err := on.usage()
	if err != nil {
		return s, err
	}
	stop, err := profile(t.Profile, t.Side+"-trial")
	if err != nil {
		return s, err
	}
	s.Seconds, err = t.perform(ctx, on, graphs)
	if err := errors.Join(err, stop()); err != nil {
		return s, err
	}
	now, err := on.usage()
	if err != nil {
		return s, err
	}
	after, err := on.driver.writes(ctx)
	if err != nil {
		return s, err
	}
	n := float64(s.SubJobs)
	s.PerSecond = n / s.Seconds
	s.CPUPer1000, s.PeakBytes = (now.CPU-taken.CPU)/n*1000, now.Peak
	s.DiskPerSubJob = float64(diskUse(on.store)-disk) / n
	s.AwaitedWrites = float64(after.awaited-stored.awaited) / n
	s.Writes = float64(after.total-stored.total) / n
	return s, t.times(ctx, on.driver, graphs, &s)
}

// perform runs the graphs as often as required, and returns how many seconds that took. It returns when everything is
// settled.
func (t trial) perform(ctx context.Context, on *stage, graphs []baseline.Graph) (float64, error) {
	begin := time.Now()
	for i := range max(1, t.Again) {
		if err := on.driver.run(ctx, word(i), graphs); err != nil {
			return 0, err
		}
	}
	took := time.Since(begin).Seconds()
	return took, on.reader.settled(ctx)
}

// times reads hops and window of the last run from the log.
func (t trial) times(ctx context.Context, d driver, graphs []baseline.Graph, s *Sample) error {
	starts, err := d.starts(ctx, word(max(1, t.Again)-1), graphs)
	if err != nil {
		return err
	}
	sorted := hops(graphs, starts)
	s.HopP50MS, s.HopP99MS = millis(quantile(sorted, 0.5)), millis(quantile(sorted, 0.99))
	if w := window(starts).Seconds(); w > 0 {
		s.LoopPerSecond = float64(nodes(graphs)) / w
	}
	return nil
}

// word distinguishes the runs of a trial.
func word(i int) string { return fmt.Sprintf("run%d", i) }
