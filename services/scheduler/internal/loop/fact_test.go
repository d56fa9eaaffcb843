package loop

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestARequestCountsInTheCacheAndIsReadBackWhenItWasDropped(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.CacheBytes = 100 << 10
	requested, created := f.begin()
	if r, ok := requested.Data.(*events.JobRequested); ok {
		r.Request.Context = strings.Repeat("x", 200<<10)
	}
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	if p.facts.size > 200<<10+100<<10 {
		t.Errorf("%d bytes are kept", p.facts.size)
	}
	p.CacheBytes = 1
	if got, _, err := p.builder.requested(t.Context(), p.cache.jobs["j"]); err != nil || len(got.Request.Context) != 200<<10 {
		t.Errorf("%+v, %v", got, err)
	}
	if !f.said(".j.b.1") {
		t.Errorf("b was not issued: %q", f.published)
	}
}

func TestWhatWorkReferredToIsForgottenWithItsJob(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobReported, "a", 1, success))
	if len(p.facts.bySeq) != 3 {
		t.Errorf("%d facts are kept of a job in motion", len(p.facts.bySeq))
	}
	f.deliver(t, p, 4, true, f.add(events.KindSubJobReported, "b", 1, success))
	for i, moved := range []events.JobMoved{{Status: events.Planning, Cause: 1}, {Status: events.Running, Turn: 1, Cause: 2}, {Status: events.Finished, Turn: 2, Cause: 4}} {
		kind, data := events.Kind("job."+strings.ToLower(string(moved.Status))), any(&moved)
		if moved.Status == events.Finished {
			data = &events.JobEnded{JobMoved: moved}
		}
		e := f.add(kind, "", 0, data)
		e.Key = strconv.Itoa(i)
		f.deliver(t, p, uint64(5+i), true, e)
	}
	if p.cache.jobs["j"] != nil || len(p.facts.bySeq) != 0 || p.facts.size != 0 {
		t.Errorf("%d facts of %d bytes are kept of job %+v", len(p.facts.bySeq), p.facts.size, p.cache.jobs["j"])
	}
}

// malformed returns what the decoder makes of bytes on the subject of an event.
func (f *fake) malformed(t *testing.T, at events.Event, body string) events.Event {
	t.Helper()
	m := events.Message{Subject: subjectOf(events.NewNames(""), &at), Body: []byte(body)}
	if body == ofLaterVersion {
		m.Header = events.Header(events.HeaderType, strings.TrimSuffix(at.Kind.Type(), "v1")+"v2", events.HeaderSkippable, "true")
	}
	e, ok := events.Decode(events.NewNames(""), m)
	if !ok || e.Fault == nil {
		t.Fatalf("%s on %s is no malformed event: %+v", body, m.Subject, e)
	}
	e.Seq, e.Time = uint64(len(f.log)+1), time.Unix(int64(len(f.log)), 0)
	f.log = append(f.log, e)
	return e
}

func TestBytesThatEndARunAndCannotBeReadTeachTheNextRun(t *testing.T) {
	bodies := []string{"", "rub{", "null", "[1]", "7", "\x00\xff", `{"request":{},"plan":7,"faults":7,"answer":}`, ofLaterVersion}
	ends := map[string][]events.Kind{
		"a": {events.KindInputRequested, events.KindSubJobReported},
		events.PlanID: {
			events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered, events.KindInputRequested, events.KindSubJobReported,
		},
	}
	for subjob, kinds := range ends {
		for _, kind := range kinds {
			for _, body := range bodies {
				endsInBytes(t, 100<<10, kind, subjob, body)
				endsInBytes(t, 0, kind, subjob, body) // All is read back from the log.
			}
		}
	}
}

// ofLaterVersion returns bytes of a version that the reader does not know and may skip.
const ofLaterVersion = "later version"

// endsInBytes ends both runs that a SubJob may have with bytes that cannot be read.
func endsInBytes(t *testing.T, remembered int, kind events.Kind, subjob, body string) {
	t.Helper()
	f := newFake()
	p := f.partition(t)
	p.CacheBytes = remembered
	requested, created := f.begin()
	list := []events.Event{requested, created}
	if r, ok := requested.Data.(*events.JobRequested); ok {
		r.Rules.Retries = 1
	}
	if d, ok := created.Data.(*events.GraphCreated); ok {
		retries := 1
		d.Plan.SubJobs[0].Retries = &retries
	}
	if subjob == events.PlanID {
		f.log, list = f.log[:1], list[:1]
	}
	list = append(list, f.malformed(t, events.Event{Kind: kind, Job: "j", SubJob: subjob, Run: 1}, body))
	for i, e := range list {
		f.deliver(t, p, uint64(i+1), true, e)
	}
	j := p.cache.jobs["j"]
	if j.phase == quarantined || !f.said(".j."+subjob+".2") {
		t.Fatalf("%s of %s with %q: it is %s, published %q", kind, subjob, body, j.phase, f.published)
	}
	if !strings.Contains(strings.Join(p.builder.buffer.Lessons, ""), "could not be read") {
		t.Errorf("%s of %s with %q: the next run is taught %q", kind, subjob, body, p.builder.buffer.Lessons)
	}
	last := f.malformed(t, events.Event{Kind: kind, Job: "j", SubJob: subjob, Run: 2}, body)
	f.deliver(t, p, uint64(len(f.log)), true, last)
	if j.phase == quarantined || j.state.Status != events.Failed {
		t.Errorf("%s of %s with %q twice: it is %s, the job is %s", kind, subjob, body, j.phase, j.state.Status)
	}
}

func TestARunThatTookTooLongIsTriedAgain(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	if d, ok := created.Data.(*events.GraphCreated); ok {
		retries, timeout := 1, events.Duration(time.Second)
		d.Plan.SubJobs[0].Retries, d.Plan.SubJobs[0].Timeout = &retries, &timeout
	}
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	f.deliver(t, p, 3, true, f.add(events.KindSubJobStarted, "a", 1, &events.SubJobStarted{}))
	f.deliver(t, p, 4, true, f.add(events.KindTimerFired, "", 0, &events.TimerFired{Timer: "timeout~a~1"}))
	f.deliver(t, p, 5, true, f.add(events.KindSubJobClosed, "a", 1, &events.SubJobClosed{}))
	if j := p.cache.jobs["j"]; j.phase == quarantined || !f.said(".j.a.2") || !strings.Contains(strings.Join(p.builder.buffer.Lessons, ""), "took longer") {
		t.Errorf("it is %s, published %q, taught %q", j.phase, f.published, p.builder.buffer.Lessons)
	}
}
