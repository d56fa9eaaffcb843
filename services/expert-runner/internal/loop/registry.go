package loop

import (
	"sync"
	"time"
)

// registry knows every run that is in progress on this runner.
type registry struct {
	mu   sync.Mutex // Guards both maps; held only briefly.
	runs map[string]*run
	jobs map[string]map[string]*run
}

func newRegistry() *registry {
	return &registry{runs: map[string]*run{}, jobs: map[string]map[string]*run{}}
}

// add registers a run. It returns false if the run is in progress already.
func (g *registry) add(r *run) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs[r.id] != nil {
		return false
	}
	g.runs[r.id] = r
	of := g.jobs[r.Job]
	if of == nil {
		of = map[string]*run{}
		g.jobs[r.Job] = of
	}
	of[r.id] = r
	return true
}

func (g *registry) remove(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, r.id)
	of := g.jobs[r.Job]
	if delete(of, r.id); len(of) == 0 {
		delete(g.jobs, r.Job)
	}
}

func (g *registry) of(job string) []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return values(g.jobs[job])
}

func (g *registry) all() []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return values(g.runs)
}

func (g *registry) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.runs)
}

func values(m map[string]*run) []*run {
	list := make([]*run, 0, len(m))
	for _, r := range m {
		list = append(list, r)
	}
	return list
}

// rateLimitedLog logs a message for one key only once in a while, so that a flood of bad work does not flood the log.
type rateLimitedLog struct {
	every time.Duration
	mu    sync.Mutex // Guards last.
	last  map[string]time.Time
}

// maxSeldom limits the keys: they come from subjects that anyone may publish on.
const maxSeldom = 1000

func newRateLimitedLog(every time.Duration) *rateLimitedLog {
	return &rateLimitedLog{every: every, last: map[string]time.Time{}}
}

func (s *rateLimitedLog) let(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, ok := s.last[key]; ok && now.Sub(at) < s.every {
		return false
	}
	if len(s.last) >= maxSeldom {
		clear(s.last)
	}
	s.last[key] = now
	return true
}
