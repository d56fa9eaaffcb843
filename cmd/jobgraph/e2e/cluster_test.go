//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// outage is longer than an election and longer than a lease.
const outage = 15 * time.Second

// The leader of the log in a cluster of three is lost in various ways, with running work and while jobs are submitted.
// Everything admitted ends successfully, nothing reported is repeated, and the log folds to the saved state.
func TestJobsSurviveTheLossOfANodeOfThree(t *testing.T) {
	t.Parallel() // It mostly waits.
	for _, c := range []struct {
		name       string
		lose, mend func(n *nodes, node int)
	}{
		{name: "killed", lose: func(n *nodes, node int) { n.list[node].kill() }, mend: func(n *nodes, node int) { n.list[node].start() }},
		{name: "paused", lose: func(n *nodes, node int) { n.list[node].pause() }, mend: func(n *nodes, node int) { n.list[node].wake() }},
		{name: "cut off", lose: (*nodes).cut, mend: (*nodes).heal},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, n := clustered(t)
			s.hold("held", "b", "c")
			s.submit("held", diamond()...)
			s.await(1, "begin", "held", "b")
			s.await(1, "begin", "held", "c")
			stop := s.handIn("m")
			s.await(8, "end", "", "")
			node := s.leader(n)
			before := map[[2]string]int{}
			for _, k := range s.reported([]string{"held", "m0", "m1"}) {
				before[k] = s.count("begin", k[0], k[1])
			}
			at := time.Now()
			c.lose(n, node)
			s.open("held", "b", "c") // The work ends while the node is away.
			s.ends("held")
			t.Logf("the job in hand ended %s after the loss of the node, which is still away", time.Since(at).Round(time.Millisecond))
			<-time.After(time.Until(at.Add(outage)))
			c.mend(n, node)
			jobs := append(stop(), "held")
			s.finish(jobs...)
			t.Logf("all ended %s after the loss", time.Since(at).Round(time.Millisecond))
			s.leader(n)
			begun := 0
			for _, job := range jobs {
				for _, id := range []string{"a", "b", "c", "d"} {
					n := s.count("begin", job, id)
					begun += n
					if n < 1 || n > 2 {
						s.t.Errorf("%s/%s began %d times", job, id, n)
					}
					if reported, known := before[[2]string{job, id}]; known && n != reported {
						s.t.Errorf("%s/%s was reported and began again", job, id)
					}
				}
			}
			s.t.Logf("%d jobs of 4 SubJobs, %d executions, %d reports seen before", len(jobs), begun, len(before))
		})
	}
}

// handIn submits jobs one after the other until stop, which returns those that were admitted. One with an unknown outcome
// is submitted again under its id.
func (s *stack) handIn(prefix string) (stop func() []string) {
	ended, done := make(chan struct{}), make(chan struct{})
	var jobs []string
	go func() { // Ends with stop.
		defer close(done)
		ctx, cancel := context.WithTimeout(s.t.Context(), 2*patience)
		defer cancel()
		c, err := client.Connect(ctx, bus.Options{URL: s.url, Name: "submitter"})
		if err != nil {
			s.t.Error(err)
			return
		}
		defer c.Close()
		for i := 0; ; {
			var over <-chan struct{}
			if len(jobs) >= 3 {
				over = ended // Fewer would not show much.
			}
			select {
			case <-over:
				return
			case <-ctx.Done():
				s.t.Error("jobs were handed in for longer than anybody waits")
				return
			case <-time.After(800 * time.Millisecond):
			}
			once, stop := context.WithTimeout(ctx, 5*time.Second)
			job, err := c.Submit(once, request(fmt.Sprintf("%s%d", prefix, i), diamond()))
			stop()
			if err == nil {
				jobs = append(jobs, job)
				i++
			}
		}
	}()
	return func() []string {
		close(ended)
		<-done
		return jobs
	}
}
