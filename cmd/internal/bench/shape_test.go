package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// depth is the length of the longest path, in nodes.
func depth(g baseline.Graph) int {
	level, deepest := make([]int, len(g)), 0
	for n, before := range g {
		for _, p := range before {
			level[n] = max(level[n], level[p])
		}
		level[n]++
		deepest = max(deepest, level[n])
	}
	return deepest
}

func edges(graphs []baseline.Graph) int {
	total := 0
	for _, g := range graphs {
		for _, before := range g {
			total += len(before)
		}
	}
	return total
}

func TestEveryShapeHasTheSizeItsNameSays(t *testing.T) {
	type size struct{ Graphs, Nodes, Edges, Depth int }
	for shape, want := range map[Shape]size{
		{"chain", 1000}: {1, 1000, 999, 1000},
		{"fan", 1000}:   {1, 1002, 2000, 3},
		{"random", 200}: {200, 2000, 3413, 5},
		{"mesh", 13000}: {1, 13000, 200000, 10000},
		{"flat", 7}:     {7, 7, 0, 1},
		{"chain", 1}:    {1, 1, 0, 1},
		{"mesh", 2}:     {1, 2, 1, 2},
	} {
		graphs, err := shape.Graphs()
		if err != nil {
			t.Errorf("%v: %v", shape, err)
			continue
		}
		got := size{len(graphs), nodes(graphs), edges(graphs), depth(graphs[0])}
		if shape.Name == "random" {
			want.Edges, want.Depth = got.Edges, got.Depth // Random, and the same every time.
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", shape, diff)
		}
		again, err := shape.Graphs()
		if err != nil || !cmp.Equal(graphs, again) {
			t.Errorf("%v is another graph the second time (%v)", shape, err)
		}
	}
}

func TestAShapeThatDoesNotExistIsAnError(t *testing.T) {
	for _, s := range []Shape{{"ring", 5}, {"chain", 0}} {
		if _, err := s.Graphs(); err == nil {
			t.Errorf("%v has graphs", s)
		}
	}
}

func TestAHopLastsFromTheLastPredecessor(t *testing.T) {
	graphs := []baseline.Graph{{nil, {0}, {0, 1}}}
	starts := [][]int64{{100, 250, 400}}
	got := hops(graphs, starts)
	musttest.Equal(t, []time.Duration{150, 150}, got)
	if window(starts) != 300 {
		t.Errorf("window is %v", window(starts))
	}
}

func TestAQuantileIsAValueOfTheList(t *testing.T) {
	list := []time.Duration{1, 2, 3, 4}
	if quantile(list, 0.5) != 3 || quantile(list, 1) != 4 || quantile(nil, 0.5) != 0 {
		t.Error("got another value")
	}
}

func TestThePeakIsReadFromTheStatusOfAProcess(t *testing.T) {
	if got, ok := memory("VmPeak:\t 9 kB\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n", "VmHWM:"); !ok || got != 12<<10 {
		t.Errorf("got %d, %v", got, ok)
	}
	if _, ok := memory("nothing", "VmHWM:"); ok {
		t.Error("found a peak in nothing")
	}
	if u := ownUsage(); u.Peak < 1<<20 || u.CPU <= 0 {
		t.Errorf("this process took %+v", u)
	}
}

func TestARatioIsJudgedByItsTargetAndTheFloorByItsMachine(t *testing.T) {
	c := Comparison{Shape: Shape{Name: "chain", Size: 1000}, Conditions: Conditions{ModeEmbedded, SyncDefault}, Expected: 7000}
	c.Sides = append(c.Sides, score([]Sample{{Side: SideFloor, PerSecond: 6000, LoopPerSecond: 6000}}))
	c.Sides = append(c.Sides,
		score([]Sample{{Side: SidePure, PerSecond: 5700, LoopPerSecond: 5700}}),
		score([]Sample{{Side: SideClaimed, PerSecond: 3800, LoopPerSecond: 3800}}))
	c.judge()
	if !c.FloorReached || !c.Sides[1].Met || c.Sides[2].Met || c.Sides[1].Ratio != 0.95 {
		t.Errorf("got %+v", c)
	}
	// A chain that waits for claims one by one is compared with a baseline that does too.
	c.Sides = append(c.Sides, score([]Sample{{Side: SideAppend, PerSecond: 4000, LoopPerSecond: 4000}}))
	c.judge()
	if !c.Sides[2].Met || c.Sides[2].AppendRatio != 0.95 {
		t.Errorf("got %+v", c.Sides[2])
	}
}

func TestAScoreIsTheMedianOfEachMeasure(t *testing.T) {
	s := score([]Sample{{PerSecond: 1, Writes: 9}, {PerSecond: 5, Writes: 1}, {PerSecond: 3, Writes: 4}})
	if s.PerSecond != 3 || s.Writes != 4 || s.Slowest != 1 || s.Fastest != 5 {
		t.Errorf("got %+v", s)
	}
}
