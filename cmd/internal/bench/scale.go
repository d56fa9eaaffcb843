package bench

import (
	"context"
	"fmt"
)

// mostGrowth is how much more a SubJob may cost in a large setting than in a small one, as a factor.
const mostGrowth = 1.5

// small is the size of the setting that large ones are compared with.
const small = 10

// scale measures how the cost of a SubJob grows with the size of its surroundings.
type scale struct {
	self  []string
	under Conditions
	size  int
	dir   string
}

// trial runs graphs a number of times on the pure side, after a number of earlier jobs.
func (s scale) trial(ctx context.Context, shape Shape, again, before int) (Sample, error) {
	sample, err := perform(ctx, s.self, trial{Side: SidePure, Shape: shape, Under: s.under, Profile: s.dir, Again: again, Before: before})
	if err != nil {
		return sample, fmt.Errorf("%s of %d: %w", shape.Name, shape.Size, err)
	}
	return sample, nil
}

// repeats makes a small trial long enough to be measured.
func (s scale) repeats() int { return min(100, max(1, s.size/small)) }

// grown compares a large setting with a small one.
func grown(what string, least, most Sample) []Measure {
	return []Measure{
		value("CPU per 1,000 SubJobs, "+fmt.Sprint(small)+" "+what, "s", least.CPUPer1000),
		value(fmt.Sprintf("CPU per 1,000 SubJobs, %d SubJobs in all", most.SubJobs), "s", most.CPUPer1000),
		limited("growth of the cost", "times", most.CPUPer1000/least.CPUPer1000, mostGrowth),
		value("speed", "SubJobs/s", most.PerSecond),
		value("peak memory", "MB", float64(most.PeakBytes)/1e6),
	}
}

// wide measures one graph as wide as the size.
func (s scale) wide(ctx context.Context) ([]Measure, error) {
	least, err := s.trial(ctx, Shape{"fan", small - 2}, s.repeats(), 0)
	if err != nil {
		return nil, err
	}
	most, err := s.trial(ctx, Shape{"fan", max(1, s.size-2)}, 1, 0)
	return grown("nodes in a fan", least, most), err
}

// deep measures one graph as deep as the size, and one that is deep and dense: 13,000 nodes and 200,000 edges at 10,000.
func (s scale) deep(ctx context.Context) ([]Measure, error) {
	least, err := s.trial(ctx, Shape{"chain", small}, s.repeats(), 0)
	if err != nil {
		return nil, err
	}
	most, err := s.trial(ctx, Shape{"chain", s.size}, 1, 0)
	if err != nil {
		return nil, err
	}
	shape := Shape{"mesh", s.size * 13 / 10}
	dense, err := s.trial(ctx, shape, 1, 0)
	return append(grown("nodes in a chain", least, most),
		value(fmt.Sprintf("a mesh of %d nodes, %.0f edges, depth %d", shape.Size, float64(shape.Size)*meshEdges, s.size), "s", dense.Seconds),
		value("its peak memory", "MB", float64(dense.PeakBytes)/1e6)), err
}

// many measures as many jobs of ten SubJobs at once as the size, and a new job after ten times as many ended ones.
func (s scale) many(ctx context.Context) ([]Measure, error) {
	least, err := s.trial(ctx, Shape{"random", small}, max(1, s.repeats()/small), 0)
	if err != nil {
		return nil, err
	}
	most, err := s.trial(ctx, Shape{"random", s.size}, 1, 0)
	if err != nil {
		return nil, err
	}
	list := grown("jobs at once", least, most)
	alone, err := s.trial(ctx, Shape{"chain", small}, s.repeats(), 0)
	if err != nil {
		return nil, err
	}
	earlier := small * s.size
	late, err := s.trial(ctx, Shape{"chain", small}, s.repeats(), earlier)
	return append(list,
		value("a new job on an empty store", "ms", 1000*alone.Seconds/float64(s.repeats())),
		value(fmt.Sprintf("a new job behind %d that have ended", earlier), "ms", 1000*late.Seconds/float64(s.repeats())),
		limited("growth of its cost", "times", late.CPUPer1000/alone.CPUPer1000, mostGrowth)), err
}
