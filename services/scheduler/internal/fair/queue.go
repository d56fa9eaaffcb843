package fair

import "slices"

// Item is a job that waits for a turn.
type Item struct {
	// Job is its id.
	Job string
	// Group is the group whose turns it shares: a session, or a user.
	Group string
	// Priority decides between groups: the highest goes first.
	Priority int
	// Served is true if the job has just had a turn without waiting.
	Served bool
	// Late is true for a job that may overtake: every second turn of its group goes to the last job, if it may overtake.
	Late bool
}

// Queue holds the jobs that wait for their turn in one pool. The zero value is empty and ready to use.
type Queue struct {
	levels  []*level // The highest priority first; those without jobs are dropped.
	waiting map[string]struct{}
}

// level holds the jobs of one priority. Its groups are served in rounds, one job each.
type level struct {
	priority int
	turns    fifo[*group] // Groups whose turn is in this round, in order.
	next     fifo[*group] // Groups whose turn is in the next round.
	groups   map[string]*group
	served   map[string]struct{} // Groups without jobs that had their turn in this round.
	ahead    int                 // Groups that joined during this round.
}

// group is the jobs that share turns.
type group struct {
	name string
	jobs fifo[entry]
	// back is true if the next turn goes to the last job.
	back bool
}

// entry is a job that waits in its group.
type entry struct {
	job  string
	late bool
}

// take serves the jobs of a group alternately from both ends: a burst does not delay later jobs, and earlier ones still make
// progress.
func (g *group) take() (job string) {
	last := &g.jobs.items[len(g.jobs.items)-1]
	if g.back = !g.back; !g.back && last.late {
		job = last.job
		*last = entry{}
		g.jobs.items = g.jobs.items[:len(g.jobs.items)-1]
		return job
	}
	return g.jobs.pop().job
}

// Len is how many jobs wait.
func (l *Queue) Len() int { return len(l.waiting) }

// Has reports whether a job waits.
func (l *Queue) Has(job string) bool {
	_, in := l.waiting[job]
	return in
}

// Join puts a job at the end of its group; a job that already waits keeps its place. A group that was empty gets a turn in this
// round, before all groups that already had theirs. It has to wait for the next round if it had its own turn in this round, or if as
// many groups have joined this round as there are others, so that waiting groups are always served.
func (l *Queue) Join(t Item) {
	if l.Has(t.Job) {
		return
	}
	if l.waiting == nil {
		l.waiting = map[string]struct{}{}
	}
	l.waiting[t.Job] = struct{}{}
	v := l.level(t.Priority)
	g := v.groups[t.Group]
	if g == nil {
		g = &group{name: t.Group}
		v.groups[t.Group] = g
		v.enter(g, t.Served)
	}
	g.jobs.push(entry{t.Job, t.Late})
}

// Next takes out the job whose turn it is; ok is false if the queue is empty. A job that wants more turns joins again.
func (l *Queue) Next() (job string, ok bool) {
	if len(l.levels) == 0 {
		return "", false
	}
	v := l.levels[0]
	job = v.take()
	delete(l.waiting, job)
	if len(v.groups) == 0 {
		l.levels = slices.Delete(l.levels, 0, 1)
	}
	return job, true
}

// enter gives a turn to a group whose first job has just arrived.
func (v *level) enter(g *group, served bool) {
	if _, before := v.served[g.name]; served || before || v.ahead >= max(1, len(v.groups)-1) {
		v.next.push(g)
		return
	}
	v.ahead++
	v.turns.push(g)
}

// take serves the next group; there must be one.
func (v *level) take() (job string) {
	if v.turns.size() == 0 {
		v.turns, v.next, v.ahead = v.next, v.turns, 0
		clear(v.served)
	}
	g := v.turns.pop()
	job = g.take()
	if g.jobs.size() > 0 {
		v.next.push(g)
	} else {
		delete(v.groups, g.name)
		v.served[g.name] = struct{}{}
	}
	return job
}

// level finds or inserts the level of a priority. There are as many levels as priorities in use.
func (l *Queue) level(priority int) *level {
	at, found := slices.BinarySearchFunc(l.levels, priority, func(v *level, p int) int { return p - v.priority })
	if !found {
		l.levels = slices.Insert(l.levels, at, &level{priority: priority, groups: map[string]*group{}, served: map[string]struct{}{}})
	}
	return l.levels[at]
}

// fifo is a queue without priorities: first in, first out.
type fifo[T any] struct {
	items []T
	from  int
}

func (q *fifo[T]) size() int { return len(q.items) - q.from }

func (q *fifo[T]) push(v T) {
	if q.from > len(q.items)/2 { // Moves each item once on average.
		q.items = append(q.items[:0], q.items[q.from:]...)
		q.from = 0
	}
	q.items = append(q.items, v)
}

func (q *fifo[T]) pop() T {
	var none T
	v := q.items[q.from]
	q.items[q.from] = none
	q.from++
	return v
}
