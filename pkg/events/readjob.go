package events

import "github.com/jobgraph/jobgraph/pkg/events/plainjson"

func (r *JobRequested) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "request":
			return s.Object(r.Request.scan(s))
		case "digest":
			return s.Text(&r.Digest)
		case "rules":
			return s.Value(&r.Rules)
		case "history":
			return s.Raw(&r.History)
		case "history_ref":
			return s.Value(&r.HistoryRef)
		}
		return false
	}
}

func (m *JobMoved) scan(s *plainjson.Scanner) func(key []byte) bool {
	return func(key []byte) bool {
		switch string(key) {
		case "status":
			return s.Text((*string)(&m.Status))
		case "turn":
			return s.Int(&m.Turn)
		case "cause":
			return s.Uint64(&m.Cause)
		case "reason":
			return s.Text(&m.Reason)
		}
		return false
	}
}

func (m *JobEnded) scan(s *plainjson.Scanner) func(key []byte) bool {
	moved := m.JobMoved.scan(s)
	return func(key []byte) bool {
		switch string(key) {
		case "result":
			return s.Raw(&m.Result)
		case "result_ref":
			return s.Value(&m.ResultRef)
		case "artifacts":
			return s.Value(&m.Artifacts)
		case "error":
			return s.Value(&m.Error)
		case "outcome":
			return s.Text(&m.Outcome)
		case "duration_ms":
			return s.Int64(&m.DurationMS)
		case "tokens":
			return s.Int64(&m.Tokens)
		case "cost_usd":
			return s.Value(&m.CostUSD)
		}
		return moved(key)
	}
}
