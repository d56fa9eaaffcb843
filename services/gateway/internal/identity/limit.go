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
