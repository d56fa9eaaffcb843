package intake

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// lookEvery is how long what was seen of the log is believed.
const lookEvery = time.Second

// Gate holds requests back while the log is too full: what room is left belongs to jobs that were admitted.
type Gate struct {
	look func(context.Context) (bus.StreamFacts, error)
	most uint64
	full float64

	mu     sync.Mutex // Guards what is below; held while the log is asked, so that one asks for all.
	seen   time.Time
	reason string
}

// NewGate closes when look says that the log holds most bytes or more (0: no such limit), or is full by this share of its
// own limits.
func NewGate(look func(context.Context) (bus.StreamFacts, error), most uint64, full float64) *Gate {
	return &Gate{look: look, most: most, full: full}
}

// Closed says why nothing is admitted now, or "". While the log cannot be asked the last answer stands.
func (g *Gate) Closed(ctx context.Context) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.seen) < lookEvery {
		return g.reason
	}
	facts, err := g.look(ctx)
	g.seen = time.Now()
	switch {
	case err != nil:
	case g.most > 0 && facts.Bytes >= g.most:
		g.reason = fmt.Sprintf("the log holds %d bytes, the high-water mark is %d", facts.Bytes, g.most)
	case facts.Full() >= g.full:
		g.reason = fmt.Sprintf("the log is full to %d %%", int(facts.Full()*100))
	default:
		g.reason = ""
	}
	return g.reason
}
