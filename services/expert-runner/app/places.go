package app

const (
	// mostCalls is the default limit of concurrent calls.
	mostCalls = 256
	// callBytes is the estimated memory of one call: a conversation, the incoming answer, and tool results.
	callBytes = 4 << 20
)

// callPlaces returns how many calls may run at once if the process may use memory bytes, of which they get half. 0 bytes means
// unknown.
func callPlaces(memory uint64) int {
	if memory == 0 {
		return mostCalls
	}
	return int(min(max(memory/2/callBytes, defaultConcurrency), mostCalls))
}
