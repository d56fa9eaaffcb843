package fsck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// sight is what was read about one job.
type sight struct {
	job string
	// value is the value in the bucket, nil if there is none; state is the whole state without the header; end is its last
	// sequence.
	value, state []byte
	end          struct {
		Fold       int    `json:"fold"`
		Seq        uint64 `json:"seq"`
		EventID    string `json:"event_id"`
		RequestSeq uint64 `json:"request_seq"`
	}
	events   []events.Event
	payloads int
	// torn is true if the state cannot be used for any check.
	torn, unsigned, foreign, quarantined bool
	findings                             []Finding
}

func (s *sight) saved() bool { return s.value != nil }

func (s *sight) find(kind Kind, code events.Code, hint, message string, args ...any) *Finding {
	s.findings = append(s.findings, Finding{
		Kind: kind, Job: s.job, Fault: events.Fault{Code: code, Field: s.job, Message: fmt.Sprintf(message, args...), Hint: hint},
	})
	return &s.findings[len(s.findings)-1]
}

// job checks one job: it reads the saved state first, so that the log has at least what the state covers.
func (k *checker) job(ctx context.Context, job string) (*sight, error) {
	s := &sight{job: job}
	if err := k.readState(ctx, s); err != nil {
		return nil, err
	}
	for e, err := range k.client.Bus().Log().EventsOf(ctx, job, 0) {
		if err != nil {
			return nil, err
		}
		s.events = append(s.events, e)
	}
	complete := k.covers(s)
	readable, err := k.readPayloads(ctx, s)
	if err != nil {
		return nil, err
	}
	if complete && readable {
		s.compare()
	}
	return s, nil
}

// readState reads the saved state of a job and checks its digest.
func (k *checker) readState(ctx context.Context, s *sight) error {
	entry, err := k.client.Bus().State().Entry(ctx, s.job)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.value = entry.Value
	const again = "nothing: the scheduler throws it away and folds the job from its log when it next needs it"
	h := kept.Read(s.value)
	if h == nil {
		s.torn = true
		s.find(StateDamaged, events.CodeMalformed, again, "the saved state of %s cannot be read: it is torn, or no scheduler has written it", stamp(entry.Time))
		return nil
	}
	var mark struct {
		Quarantined *events.Fault `json:"quarantined"`
	}
	s.quarantined = json.Unmarshal(s.value, &mark) == nil && mark.Quarantined != nil
	s.foreign = h.Stream != k.log.Created.UTC().Format(time.RFC3339Nano)
	s.state, err = k.client.State(ctx, s.job)
	if errors.Is(err, bus.ErrNotFound) {
		s.torn = true
		s.find(StateDamaged, events.CodeMissing, again, "a part of the saved state of %s is gone", stamp(entry.Time))
		return nil
	}
	if err != nil {
		return err
	}
	verdict := h.Check(s.state)
	if err := json.Unmarshal(s.state, &s.end); err != nil || verdict == kept.Damaged {
		s.torn = true
		s.find(StateDamaged, events.CodeMalformed, again, "the saved state of %s does not match its digest %s", stamp(entry.Time), h.Digest)
		return nil
	}
	s.unsigned = verdict == kept.Unsigned && s.end.Fold != 0
	return nil
}

// covers reports whether the log contains what the state covers, judging by both ends.
func (k *checker) covers(s *sight) bool {
	at := func(seq uint64) int {
		return slices.IndexFunc(s.events, func(e events.Event) bool { return e.Seq == seq })
	}
	asked := slices.IndexFunc(s.events, func(e events.Event) bool { return e.Kind == events.KindJobRequested })
	known := s.state != nil && !s.torn && !s.foreign && s.end.Seq != 0
	switch {
	case asked < 0 && len(s.events) == 0 && s.saved():
		s.find(LogGone, events.CodeNotFound, restore(s.job), "there is a saved state of sequence %d, and no log: %d events of other jobs end at sequence %d", s.end.Seq, k.log.Messages, k.log.LastSeq)
		return false
	case asked < 0 && len(s.events) > 0:
		s.find(LogShort, events.CodeNotFound, restore(s.job), "the log has %d events from sequence %d on, and no request of the job", len(s.events), s.events[0].Seq)
		return false
	case asked >= 0 && !s.saved() && s.events[len(s.events)-1].Seq <= k.settled[events.ShardOf(s.job)]:
		s.find(StateMissing, events.CodeNotFound, "nothing: the scheduler folds the job from its log when something next happens to it",
			"the log has %d events, which schedulers have settled, and there is no saved state", len(s.events))
	case !known:
	case s.end.Seq > k.log.LastSeq:
		s.find(LogShort, events.CodeNotFound, restore(s.job), "the log ends at sequence %d, the saved state has seen %d", k.log.LastSeq, s.end.Seq)
		return false
	case at(s.end.RequestSeq) < 0:
		s.find(LogShort, events.CodeNotFound, restore(s.job), "the log does not have event %d, with which the job began by its saved state", s.end.RequestSeq)
		return false
	case at(s.end.Seq) < 0 || s.events[at(s.end.Seq)].ID != s.end.EventID:
		s.find(LogShort, events.CodeNotFound, restore(s.job), "the log does not have event %d (%s), with which the saved state ends", s.end.Seq, s.end.EventID)
		return false
	}
	return asked >= 0
}

// readPayloads reads all payloads that events refer to, and resolves plans; without a plan nothing can be folded.
func (k *checker) readPayloads(ctx context.Context, s *sight) (readable bool, err error) {
	readable = true
	looked := map[string]bool{}
	for i := range s.events {
		e := &s.events[i]
		err := joblog.Resolve(e, func(ref events.Ref) ([]byte, error) { return k.client.Bus().Blobs().Get(ctx, s.job, ref.Digest) })
		if err != nil && !errors.Is(err, bus.ErrNotFound) && !errors.Is(err, joblog.ErrPlan) {
			return false, err
		}
		readable = readable && err == nil
		for _, ref := range joblog.Refs(*e) {
			if looked[ref.Digest] || ref.Digest == "" {
				continue
			}
			looked[ref.Digest] = true
			s.payloads++
			err := k.client.Bus().Blobs().GetTo(ctx, s.job, ref.Digest, io.Discard)
			if errors.Is(err, bus.ErrNotFound) {
				s.find(PayloadMissing, events.CodeMissingBlob, "restore the object store, or `jobgraph import` an export of the job",
					"event %d (%s) names payload %s of %d bytes, which is gone or damaged", e.Seq, e.Kind, ref.Digest, ref.Size)
			} else if err != nil {
				return false, err
			}
		}
	}
	return readable, nil
}

// compare folds the log and compares the saved state with the fold at the state's last event.
func (s *sight) compare() {
	until := s.end.Seq
	if s.torn || s.foreign || s.end.Fold != graph.FoldVersion {
		s.foreign = s.foreign || !s.torn && s.end.Fold != 0 && s.end.Fold != graph.FoldVersion
		until = 0
	}
	if s.quarantined && until == 0 {
		return // The job already has a finding: it cannot be folded.
	}
	h, err := joblog.Fold(func(yield func(events.Event, error) bool) {
		for i := range s.events {
			if !yield(s.events[i], nil) {
				return
			}
		}
	}, until)
	if err != nil {
		s.find(LogUnreadable, events.CodeMustUnderstand, "`jobgraph replay "+s.job+" --step` shows where", "the log cannot be folded: %v", err)
		return
	}
	if until == 0 {
		return
	}
	folded, err := h.Job.MarshalJSON()
	if err != nil {
		s.find(LogUnreadable, events.CodeInternal, "please report it with `jobgraph export "+s.job+"`", "the fold cannot be written: %v", err)
		return
	}
	differences, err := joblog.Differences(s.state, folded)
	if err != nil || len(differences) > 0 {
		hint := "`jobgraph replay " + s.job + " --diff` shows it; stop the schedulers, delete key " + s.job + " of JOBS_STATE, and start them: the job is folded from its log"
		s.find(StateDiffers, events.CodeConflict, hint, "the saved state at sequence %d is not the fold of the log: %s", until, fields(differences)).Differences = differences
	}
}

// fields lists the names of the differences.
func fields(list []joblog.Difference) string {
	text := ""
	for i, d := range list {
		if i == 5 {
			return fmt.Sprintf("%s and %d more", text, len(list)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += d.Field
	}
	return text
}
