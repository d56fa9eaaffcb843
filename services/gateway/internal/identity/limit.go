package identity

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bounds how often each user may send requests. It is safe for concurrent use.
type Limits struct {
	perSecond rate.Limit
	burst     int

	mu sync.Mutex // Guards by.
	by map[string]*rate.Limiter
}

// NewLimits allows each user this many requests per second, and as many at once; 0 sets no limit.
func NewLimits(perSecond int) *Limits {
	return &Limits{perSecond: rate.Limit(perSecond), burst: perSecond, by: map[string]*rate.Limiter{}}
}

// Allow reports whether a user may send n requests now. Only users with valid tokens get here, so their number is bounded.
func (l *Limits) Allow(user string, n int) bool {
	if l.burst == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.by[user]
	if one == nil {
		one = rate.NewLimiter(l.perSecond, l.burst)
		l.by[user] = one
	}
	return one.AllowN(time.Now(), n)
}

// Places bounds how many of something all users may have open at once. It is safe for concurrent use.
type Places struct {
	most int

	mu  sync.Mutex // Guards all and by.
	all int
	by  map[string]int
}

// NewPlaces allows this many.
func NewPlaces(most int) *Places { return &Places{most: most, by: map[string]int{}} }

// Take takes a place for a user, who gives it back. It reports whether there was one.
func (p *Places) Take(user string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !Room(p.most, p.all, p.by[user]) {
		return false
	}
	p.all++
	p.by[user]++
	return true
}

// Give gives a place of a user back.
func (p *Places) Give(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.by[user]--; p.by[user] == 0 {
		delete(p.by, user)
	}
}

// Room reports whether a user who has mine of all places may have another one of most. The last eighth is for users who have less than
// an eighth: one user alone does not keep others out.
func Room(most, all, mine int) bool {
	kept := most / 8
	return all < most && (mine < kept || all < most-kept)
}
