package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// sending is a command under way.
type sending struct {
	job *job
	cmd *graph.Command
	ack Ack
	err error
}

// flight is a round of commands under way. Until it lands nothing else is said, applied or saved of its jobs; the other jobs of
// the partition go on meanwhile.
type flight struct {
	jobs  []*job
	round []sending
}

// mostFlights bounds the rounds that are under way before anything is fetched.
const mostFlights = 64

// depart begins a round for jobs of which none is under way. It uses the list up.
func (p *Partition) depart(ctx context.Context, list []*job) error {
	round, err := p.issue(ctx, list)
	if err != nil || len(round) == 0 {
		return err
	}
	f := &flight{round: round, jobs: list[:0]}
	for i := range round {
		if j := round[i].job; !j.flying {
			j.flying = true
			f.jobs = append(f.jobs, j)
		}
	}
	p.flights++
	go func() { // Ends with the last answer, which comes, or does not within the publisher's patience.
		f.wait(ctx)
		p.landed <- f // Taken by the loop, or by whoever waits for its end.
	}()
	return nil
}

// wait takes the answers, the last one first: most are there when it is.
func (f *flight) wait(ctx context.Context) {
	for i := len(f.round) - 1; i >= 0; i-- {
		if s := &f.round[i]; s.err == nil && s.ack != nil {
			_, s.err = s.ack.Wait(ctx)
		}
	}
}

// land tells the jobs of a round what was delivered, and puts those on the turn's list that may go on.
func (p *Partition) land(ctx context.Context, f *flight) error {
	p.flights--
	p.now = time.Now()
	for i := range f.round {
		if err := f.round[i].err; crashed(err) {
			return err
		}
	}
	if err := p.at(AtPublished); err != nil {
		return err
	}
	for _, j := range f.jobs {
		j.flying = false
	}
	for i := range f.round {
		s := &f.round[i]
		if s.job.state == nil {
			continue // Something before it in this round, or while it was under way, made the job be forgotten.
		}
		if err := p.delivered(ctx, s); crashed(err) {
			return err
		} else if err != nil && !s.job.owing { // Many at once are one failure.
			p.postpone(s.job, fmt.Errorf("%s %s: %w", s.cmd.Kind, s.cmd.SubJob, err))
		}
	}
	if p.Trace != nil {
		endSteps(f.jobs, f.round)
	}
	for _, j := range f.jobs {
		switch {
		case p.jobs[j.id] != j: // It is deleted; whoever has its id now is another one.
		case j.owing:
			p.await(j)
		default:
			j.moved = j.state != nil
			p.touch(j)
		}
	}
	return nil
}
