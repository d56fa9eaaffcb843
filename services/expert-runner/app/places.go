package app

// callKinds are the kinds of experts that wait for the answers of others most of the time.
var callKinds = []string{kindLLM, kindHTTP, kindA2A, kindHuman}

const (
	// mostCalls is how many of their runs are at work at once where no setting says it.
	mostCalls = 256
	// callBytes is what one of them is reckoned to need: a conversation, the answer that comes in, what tools have given.
	callBytes = 4 << 20
)

// callPlaces is how many calls may be at work at once when the process has memory bytes: they get half of it. 0 bytes means that
// the memory is unknown.
func callPlaces(memory uint64) int {
	if memory == 0 {
		return mostCalls
	}
	return int(min(max(memory/2/callBytes, defaultConcurrency), mostCalls))
}
