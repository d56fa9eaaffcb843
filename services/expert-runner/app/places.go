package app

// callKinds are the kinds of experts that wait for the answers of others most of the time.
var callKinds = []string{kindLLM, kindHTTP, kindA2A, kindHuman}

const (
	// mostCalls is how many of their runs are at work at once where no setting says it.
	mostCalls = 256
	// callBytes is what one of them is reckoned to need: a conversation, the answer that comes in, what tools have given.
	callBytes = 4 << 20
)

// callPlaces is how many calls are at work at once with so much memory, in bytes, of which they may have one half; 0 bytes means
// that nothing is known.
func callPlaces(memory uint64) int {
	if memory == 0 {
		return mostCalls
	}
	return int(min(max(memory/2/callBytes, defaultConcurrency), mostCalls))
}
