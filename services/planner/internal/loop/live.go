package loop

import "github.com/jobgraph/jobgraph/pkg/events/item"

// sink returns the sink of the run's live items, or nil if there is none.
func (t *planningRun) sink() Items {
	if t.items == nil && t.loop.Items != nil {
		t.items = t.loop.Items(t.w.Job, t.w.SubJob, t.w.Run)
	}
	return t.items
}

func (t *planningRun) show(i item.Item) {
	if s := t.sink(); s != nil {
		s.Show(i)
	}
}

// seam marks where the run continues: after the run that it resumes, after another process that had begun the same run, or after
// one that it replaces.
func (t *planningRun) seam(begun bool) {
	resumes := t.w.ResumeOf
	if resumes == 0 && !begun && t.w.Run <= 1 {
		return
	}
	s := t.sink()
	switch {
	case s == nil:
	case resumes > 0:
		s.Seam(resumes, true)
	case begun:
		s.Seam(t.w.Run, true)
	default:
		s.Seam(t.w.Run-1, false)
	}
}

// shown ends the items of the run; they stay open if another run continues them.
func (t *planningRun) shown(done bool) {
	if t.items != nil {
		t.items.End(done)
	}
}
