package host

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// mostGrowth is how much a small heap may grow over what is live, in percent, before it is collected. Services keep little
	// and allocate much: at 400 the collector takes a tenth less of the processor than at Go's own 100.
	mostGrowth = 400
	// leastGrowth is the same for a large heap, and room what it may grow by in between, in bytes. Beside Go's own 100 a burst of
	// 10,000 jobs peaks 75 MB lower in one process, and takes about two percent longer.
	leastGrowth = 60
	room        = 96 << 20
	// softLimit is what all memory of the process is held to, in bytes, while limitOverLive times of what is live is less: large
	// buffers come and go faster than growth is set again, and what was collected goes back to the system. At twice of what is
	// live the collector took three quarters of the processor with 10,000 jobs at once.
	softLimit     = 256 << 20
	limitOverLive = 3
)

// TuneMemory sets the heap's growth for this process, unless the variable GOGC does: generous while little is live, and the
// less the more is.
func TuneMemory(env Env) {
	if _, set := env.get("GOGC"); set {
		return
	}
	debug.SetGCPercent(mostGrowth)
	debug.SetMemoryLimit(softLimit)
	afterEachCollection(&pace{percent: mostGrowth, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}})
}

// pace is garbage from the start: the collector hands it over once per collection. It holds a pointer: a smaller object without
// one would share its block with others, and is only handed over with the last of them.
type pace struct {
	percent int
	live    []metrics.Sample
}

// afterEachCollection sets the growth again after each collection, in the runtime's own goroutine for finalizers.
func afterEachCollection(p *pace) {
	runtime.SetFinalizer(p, func(p *pace) {
		metrics.Read(p.live)
		bytes := p.live[0].Value.Uint64()
		if percent := growth(bytes); percent != p.percent {
			p.percent = percent
			debug.SetGCPercent(percent)
		}
		debug.SetMemoryLimit(limit(bytes))
		afterEachCollection(p)
	})
}

// growth is how much a heap may grow of which so much is live, in steps of ten percent.
func growth(live uint64) int {
	percent := int(min(room*100/max(live, 1), mostGrowth))
	return max(percent/10*10, leastGrowth)
}

// limit is what all memory is held to when so much is live: never so near that the collector would not come to rest.
func limit(live uint64) int64 { return int64(max(softLimit, limitOverLive*min(live, 1<<60))) }
