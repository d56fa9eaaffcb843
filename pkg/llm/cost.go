package llm

// cost returns the cost stated by the provider, else computed from the price list, else nil.
func (m ModelConfig) cost(stated *float64, used Usage) *float64 {
	if stated != nil {
		return stated
	}
	if m.Price == nil || used.Total() == 0 {
		return nil
	}
	cached := value(m.Price.Cached, m.Price.Prompt)
	sum := m.Price.Prompt*float64(max(0, used.Prompt-used.Cached-used.Written)) + cached*float64(used.Cached) +
		value(m.Price.CacheWrite, m.Price.Prompt)*float64(used.Written) + m.Price.Completion*float64(used.Completion)
	sum /= 1e6
	return &sum
}
