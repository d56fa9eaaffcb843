package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Comparison is the result of a workload that ran on all sides in turn.
type Comparison struct {
	Shape
	Conditions
	// Rounds is how often each side ran.
	Rounds int `json:"rounds"`
	// Sides holds the medians over the rounds, the baseline first.
	Sides []Score `json:"sides"`
	// Expected is what the baseline reaches on the machines for which the targets were set, in SubJobs per second; 0 if
	// unknown for this shape. FloorReached is true if it was reached here.
	Expected     float64 `json:"expected_floor_per_second,omitempty"`
	FloorReached bool    `json:"floor_reached"`
}

// Score is one side of a comparison.
type Score struct {
	// Sample holds the median of each measure.
	Sample
	// Slowest and Fastest are the extremes of PerSecond.
	Slowest float64 `json:"slowest_per_second"`
	Fastest float64 `json:"fastest_per_second"`
	// Ratio is PerSecond relative to the baseline, LoopRatio is the same for LoopPerSecond. AppendRatio is PerSecond
	// relative to the baseline with an additional append, 0 if that did not run.
	Ratio       float64 `json:"ratio"`
	LoopRatio   float64 `json:"loop_ratio"`
	AppendRatio float64 `json:"append_ratio,omitempty"`
	// Target is the minimum ratio, 0 for none: to the baseline, and for SideClaimed on the chain to the baseline with an
	// additional append. Met is true if it was reached or there is none.
	Target float64 `json:"target,omitempty"`
	Met    bool    `json:"met"`
}

// compare runs the sides in turn, each trial in a fresh process; progress is called for every trial.
func compare(ctx context.Context, self []string, t trial, rounds int, sides []string, progress io.Writer) (Comparison, error) {
	shape, under := t.Shape, t.Under
	samples := map[string][]Sample{}
	for round := range rounds {
		for _, side := range sides {
			t.Side = side
			s, err := perform(ctx, self, t)
			if err != nil {
				return Comparison{}, fmt.Errorf("%s on %s: %w", shape.Name, side, err)
			}
			samples[side] = append(samples[side], s)
			_, err = fmt.Fprintf(progress, "%s %d, %s, sync %s: round %d of %d, %s: %.0f SubJobs/s\n",
				shape.Name, shape.Size, under.Mode, under.Sync, round+1, rounds, side, s.PerSecond)
			if err != nil {
				return Comparison{}, err
			}
		}
	}
	c := Comparison{Shape: shape, Conditions: under, Rounds: rounds, Expected: expected(shape, under)}
	for _, side := range sides {
		c.Sides = append(c.Sides, score(samples[side]))
	}
	c.judge()
	return c, nil
}

// perform runs one trial in a child process.
func perform(ctx context.Context, self []string, t trial) (Sample, error) {
	var s Sample
	cmd, err := child(ctx, self, "trial", t)
	if err != nil {
		return s, err
	}
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("trial: %w", err)
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, fmt.Errorf("read trial: %w", err)
	}
	return s, nil
}

// score computes the medians over the samples of one side.
func score(list []Sample) Score {
	median := func(of func(Sample) float64) float64 {
		values := make([]float64, len(list))
		for i, s := range list {
			values[i] = of(s)
		}
		slices.Sort(values)
		middle := len(values) / 2
		if len(values)%2 == 0 {
			return (values[middle-1] + values[middle]) / 2
		}
		return values[middle]
	}
	speed := func(a, b Sample) int { return cmp.Compare(a.PerSecond, b.PerSecond) }
	return Score{
		Sample: Sample{
			Side: list[0].Side, SubJobs: list[0].SubJobs,
			Seconds:       median(func(s Sample) float64 { return s.Seconds }),
			PerSecond:     median(func(s Sample) float64 { return s.PerSecond }),
			LoopPerSecond: median(func(s Sample) float64 { return s.LoopPerSecond }),
			HopP50MS:      median(func(s Sample) float64 { return s.HopP50MS }),
			HopP99MS:      median(func(s Sample) float64 { return s.HopP99MS }),
			CPUPer1000:    median(func(s Sample) float64 { return s.CPUPer1000 }),
			PeakBytes:     int64(median(func(s Sample) float64 { return float64(s.PeakBytes) })),
			DiskPerSubJob: median(func(s Sample) float64 { return s.DiskPerSubJob }),
			AwaitedWrites: median(func(s Sample) float64 { return s.AwaitedWrites }),
			Writes:        median(func(s Sample) float64 { return s.Writes }),
		},
		Slowest: slices.MinFunc(list, speed).PerSecond,
		Fastest: slices.MaxFunc(list, speed).PerSecond,
	}
}

// met reports whether no target was missed.
func (c Comparison) met() bool {
	return !slices.ContainsFunc(c.Sides, func(s Score) bool { return !s.Met })
}

// judge computes ratios and compares them with the targets.
func (c *Comparison) judge() {
	base := c.Sides[0]
	appends := slices.IndexFunc(c.Sides, func(s Score) bool { return s.Side == SideAppend })
	c.FloorReached = base.Side == SideFloor && base.PerSecond >= floorShare*c.Expected
	for i := range c.Sides {
		s := &c.Sides[i]
		if base.Side == SideFloor && base.PerSecond > 0 && base.LoopPerSecond > 0 {
			s.Ratio, s.LoopRatio = s.PerSecond/base.PerSecond, s.LoopPerSecond/base.LoopPerSecond
		}
		if appends >= 0 && c.Sides[appends].PerSecond > 0 {
			s.AppendRatio = s.PerSecond / c.Sides[appends].PerSecond
		}
		s.Target = target(c.Shape, c.Conditions, s.Side)
		s.Met = s.Ratio >= s.Target || s.latencyBound(c.Shape) && s.AppendRatio >= s.Target
	}
}

// latencyBound reports whether a chain waits for the claims of this side one by one. Such a side is compared with a baseline
// that does the same.
func (s *Score) latencyBound(shape Shape) bool { return s.Side == SideClaimed && shape.Name == "chain" }

// floorShare is the fraction of the expected baseline that counts as reached, since machines of one class vary that much.
const floorShare = 0.75

// expected returns the baseline's SubJobs per second on two shared cores with a local disk.
func expected(shape Shape, under Conditions) float64 {
	if shape.Size != standardSize(shape.Name) {
		return 0
	}
	return map[Conditions]map[string]float64{
		{ModeEmbedded, SyncDefault}: {"chain": 7000, "fan": 36800, "random": 26300},
		{ModeServices, SyncDefault}: {"chain": 2240, "fan": 29300, "random": 18000},
		{ModeEmbedded, SyncAlways}:  {"chain": 1350, "fan": 3000, "random": 3000},
		{ModeServices, SyncAlways}:  {"chain": 930, "fan": 2900, "random": 3200},
	}[under][shape.Name]
}

// target returns the minimum ratio to the baseline that Jobgraph promises.
func target(shape Shape, under Conditions, side string) float64 {
	targets := map[string]map[string]float64{
		SidePure:    {"chain": 0.9, "fan": 1, "random": 1},
		SideClaimed: {"chain": 0.9, "fan": 1, "random": 1},
	}
	if under.Sync == SyncAlways {
		targets = map[string]map[string]float64{SidePure: {"chain": 1, "fan": 1, "random": 1}}
	}
	return targets[side][shape.Name]
}

// standardSize returns the size for which expectations and targets hold: nodes, width, DAGs, stops, jobs.
func standardSize(name string) int {
	switch name {
	case "random", "dag", "secure":
		return 200
	case "cancel":
		return 100
	case "wait", "burst", "wide", "deep", "many":
		return 10_000
	}
	return 1000
}
