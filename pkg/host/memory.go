package host

import "runtime/debug"

// heapGrowth is how much the heap may grow over what is live, in percent, before it is collected. Services keep little and
// allocate much: at 400 the collector takes a tenth less of the processor than at Go's own 100.
const heapGrowth = 400

// TuneMemory sets the heap's growth for this process, unless the variable GOGC does.
func TuneMemory(env Env) {
	if _, set := env.get("GOGC"); !set {
		debug.SetGCPercent(heapGrowth)
	}
}
