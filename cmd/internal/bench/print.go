package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// print writes comparisons as a table for people.
func (c Comparison) print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n%s %d, %s, sync %s, median of %d\n", c.Name, c.Size, c.Mode, c.Sync, c.Rounds); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	rows := "side\tSubJobs/s\tratio\tto append\ttarget\tin the loop/s\tratio\thop p50\thop p99\tCPU s/1000\tpeak MB\tdisk B/SubJob\twrites awaited\tall\t\n"
	for _, s := range c.Sides {
		goal := "–"
		if s.Target > 0 {
			goal = fmt.Sprintf("%.2f %s", s.Target, map[bool]string{true: "met", false: "MISSED"}[s.Met])
		}
		appends := "–"
		if s.AppendRatio > 0 {
			appends = fmt.Sprintf("%.2f", s.AppendRatio)
		}
		rows += fmt.Sprintf("%s\t%.0f\t%.2f\t%s\t%s\t%.0f\t%.2f\t%.2f ms\t%.2f ms\t%.3f\t%.0f\t%.0f\t%.2f\t%.2f\t\n",
			s.Side, s.PerSecond, s.Ratio, appends, goal, s.LoopPerSecond, s.LoopRatio, s.HopP50MS, s.HopP99MS, s.CPUPer1000,
			float64(s.PeakBytes)/1e6, s.DiskPerSubJob, s.AwaitedWrites, s.Writes)
	}
	if _, err := io.WriteString(t, rows); err != nil {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if c.Expected > 0 && !c.FloorReached {
		_, err := fmt.Fprintf(w, "The floor reached %.0f/s where %.0f/s are expected of two shared cores: this machine is slower or was busy.\n",
			c.Sides[0].PerSecond, c.Expected)
		return err
	}
	return nil
}
