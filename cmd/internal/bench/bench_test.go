package bench_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/bench"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// run runs the command and returns its result as JSON.
func run(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, notes bytes.Buffer
	c := bench.New(bench.Options{Self: []string{os.Args[0], "bench"}, JSON: func() bool { return true }})
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&notes)
	c.SilenceUsage = true
	if err := c.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("bench %s: %v\n%s", strings.Join(args, " "), err, &notes)
	}
	return out.Bytes()
}

func compared(t *testing.T, args ...string) []bench.Comparison {
	t.Helper()
	var list []bench.Comparison
	musttest.Do(t, json.Unmarshal(run(t, args...), &list))
	return list
}

// check checks the counts of a comparison, never its times.
func check(t *testing.T, c bench.Comparison, subjobs int) {
	t.Helper()
	// Our work may go in batches, so there may be less than one message per SubJob.
	least := map[string]float64{bench.SideFloor: 2, bench.SideAppend: 3, bench.SidePure: 1, bench.SideClaimed: 3, bench.SideForeign: 2, bench.SideCommand: 3}
	most := map[string]float64{bench.SideFloor: 2, bench.SideAppend: 3, bench.SidePure: 2, bench.SideClaimed: 4, bench.SideForeign: 2, bench.SideCommand: 4}
	for i, side := range []string{bench.SideFloor, bench.SideAppend, bench.SidePure, bench.SideClaimed, bench.SideForeign, bench.SideCommand} {
		s := c.Sides[i]
		if s.Side != side || s.SubJobs != subjobs {
			t.Errorf("%s: side %d is %s with %d SubJobs, want %s with %d", c.Name, i, s.Side, s.SubJobs, side, subjobs)
		}
		// Our jobs are also planned: one more piece of work.
		if s.AwaitedWrites < least[side] || s.AwaitedWrites > most[side]+1 {
			t.Errorf("%s: %s awaits %.2f writes per SubJob, want %.0f to %.0f", c.Name, side, s.AwaitedWrites, least[side], most[side])
		}
		if s.Writes <= s.AwaitedWrites || s.DiskPerSubJob <= 0 || s.PeakBytes <= 0 || s.PerSecond <= 0 || s.LoopPerSecond <= 0 || s.HopP99MS < s.HopP50MS {
			t.Errorf("%s: %s measured %+v", c.Name, side, s.Sample)
		}
	}
}

func TestEveryComparedWorkloadRunsOnEverySide(t *testing.T) {
	list := compared(t, "--size", "5", "--rounds", "1")
	if len(list) != 3 {
		t.Fatalf("%d workloads", len(list))
	}
	for i, subjobs := range []int{5, 7, 50} {
		check(t, list[i], subjobs)
	}
}

func TestServicesAreProcessesOfTheirOwn(t *testing.T) {
	check(t, compared(t, "--size", "5", "--rounds", "1", "--workload", "chain", "--mode", "services", "--sync", "always")[0], 5)
}

func TestWrongFlagsAreReportedTogether(t *testing.T) {
	c := bench.New(bench.Options{})
	c.SetArgs([]string{"--workload", "ring", "--mode", "cloud", "--sync", "never", "--rounds", "0", "--size", "-1", "--side", "theirs"})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("no error")
	}
	for _, flag := range []string{"--workload", "--mode", "--sync", "--rounds", "--size", "--side"} {
		if !strings.Contains(err.Error(), flag) {
			t.Errorf("%q does not name %s", err, flag)
		}
	}
}

// reported returns the measures of a workload without a baseline, by name.
func reported(t *testing.T, args ...string) map[string]bench.Measure {
	t.Helper()
	var list []bench.Report
	musttest.Do(t, json.Unmarshal(run(t, args...), &list))
	measures := map[string]bench.Measure{}
	for _, m := range list[0].Measures {
		measures[m.Name] = m
	}
	return measures
}

func TestEveryWorkloadWithoutAFloorRuns(t *testing.T) {
	for workload, want := range map[string]int{"plan": 4, "tool": 7, "agents": 6, "cancel": 15, "wait": 7, "wide": 5, "deep": 7, "many": 8, "gateway": 5, "secure": 5} {
		t.Run(workload, func(t *testing.T) {
			measures := reported(t, "--workload", workload, "--size", "3")
			if len(measures) != want {
				t.Errorf("%d measures, want %d: %+v", len(measures), want, measures)
			}
			// Late reports are recorded and change nothing.
			if late, ok := measures["late results in the log"]; ok && (late.Value != 9 || measures["late results applied"].Value != 0) {
				t.Errorf("got %+v", measures)
			}
			// A job that waits for a person holds nothing.
			if held, ok := measures["work messages held while they wait"]; ok && held.Value != 0 {
				t.Errorf("got %+v", held)
			}
		})
	}
}
