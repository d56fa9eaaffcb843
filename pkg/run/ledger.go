package run

import (
	"encoding/json"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ledger folds a journal into the effects that have begun and have neither a result nor a decision. An open intent is
// identified by its sequence in the journal. The zero value belongs to an empty journal.
type ledger struct {
	// open are the open intents in the order in which they began.
	open []Unresolved
	// asked holds, per run, the sequence of the question about unknown outcomes with which it ended.
	asked map[int]uint64
	// claimed is the run of the latest claim, and claim the sequence of that claim.
	claimed int
	claim   uint64
}

// announces reports whether a record begins an effect: an intent, or a claim that announces one.
func announces(r *events.JournalRecord) bool {
	return r.Key != "" && (r.Type == events.JournalIntent || r.Type == events.JournalClaimed && r.Name != "")
}

// add applies the next record of the journal.
func (l *ledger) add(e *Entry) {
	if e.Type == events.JournalClaimed {
		l.claimed, l.claim = e.Run, e.Seq
	}
	switch {
	case announces(&e.JournalRecord):
		l.open = append(l.open, Unresolved{Intent: e.JournalRecord, Seq: e.Seq})
	case e.Type == events.JournalReported:
		l.report(e)
	case e.Type == events.JournalResult && e.Key != "":
		l.close(&e.JournalRecord)
	}
}

// close removes the one intent that a result belongs to. A decision names the intent's sequence. If it does not, or if it
// was written in a journal with other sequences, it belongs to the newest matching intent of another run before the claim
// of the deciding run. A run's own result belongs to the newest matching intent.
func (l *ledger) close(r *events.JournalRecord) {
	at := -1
	for i := range l.open {
		u := &l.open[i]
		switch {
		case u.Intent.Run != r.Run || u.Intent.Key != r.Key:
		case r.Decides == u.Seq:
			l.open = slices.Delete(l.open, i, i+1)
			return
		case r.Run != l.claimed && u.Seq >= l.claim:
		default:
			at = i
		}
	}
	if at >= 0 {
		l.open = slices.Delete(l.open, at, at+1)
	}
}

// report removes what is no longer unknown after a run's report: after a SUCCESS everything; otherwise its command, unless that was
// killed for taking too long. A run that asked leaves its open intents to the answer.
func (l *ledger) report(e *Entry) {
	if events.Kind(e.Name) == events.KindInputRequested {
		if l.asked == nil {
			l.asked = map[int]uint64{}
		}
		l.asked[e.Run] = e.Seq
		return
	}
	var report struct {
		Outcome events.Outcome `json:"outcome"`
		Error   struct {
			Code events.Code `json:"code"`
		} `json:"error"`
	}
	if events.Kind(e.Name) != events.KindSubJobReported || json.Unmarshal(e.Data, &report) != nil {
		return
	}
	l.open = slices.DeleteFunc(l.open, func(u Unresolved) bool {
		over := report.Outcome == events.Success || u.Intent.Name == Command && report.Error.Code != events.CodeTimeout
		return u.Intent.Run == e.Run && over
	})
}
