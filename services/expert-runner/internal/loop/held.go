package loop

import (
	"cmp"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// Held is a run that this runner has accepted.
type Held struct {
	Job, SubJob, Expert, Pool string
	Run, Attempt              int
	// Since is when its work was taken. Until is when its lease ends unless it is renewed; zero before the claim, and for a pure
	// expert, which needs none.
	Since, Until time.Time
}

// Held lists the accepted runs, of one job unless it is empty, in the order in which they were taken. It does not wait for any of
// them.
func (l *Loop) Held(job string) []Held {
	runs := l.runs.all()
	list := make([]Held, 0, len(runs))
	for _, r := range runs { // The fields read here are atomic or never change while others can see the run.
		if job != "" && r.Job != job {
			continue
		}
		h := Held{Job: r.Job, SubJob: r.SubJob, Expert: r.expert.Card.ID, Pool: r.Pool, Run: r.Run, Attempt: r.Attempt, Since: r.taken}
		if claim := r.claimed.Load(); claim != nil {
			h.Until = claim.Until()
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Job, b.Job), cmp.Compare(a.SubJob, b.SubJob), cmp.Compare(a.Run, b.Run))
	})
	return list
}

// Offered lists the experts of this runner, by id.
func (l *Loop) Offered() []*expert.Expert {
	offered := *l.offered.Load()
	list := make([]*expert.Expert, 0, len(offered))
	for _, s := range offered {
		list = append(list, s.Expert)
	}
	slices.SortFunc(list, func(a, b *expert.Expert) int { return cmp.Compare(a.Card.ID, b.Card.ID) })
	return list
}
