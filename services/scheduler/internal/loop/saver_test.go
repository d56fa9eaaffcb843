package loop

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestASaveWithoutRoomIsQueued(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	p.SaveEvery, p.Parallel = 1, 1
	var batch Batch
	for i, job := range []string{"a", "b", "c"} {
		requested, _ := f.begin()
		requested.Job = job
		f.log[requested.Seq-1].Job = job
		batch.Deliveries = append(batch.Deliveries, Delivery{Event: requested, ConsumerSeq: uint64(i + 1), First: true, Acker: f})
	}
	musttest.Do(t, p.Replay(t.Context(), batch))
	if len(f.states) != 3 || f.acked != 3 || len(p.saver.queue) != 0 {
		t.Errorf("%d states saved, %d deliveries acknowledged, %d queued", len(f.states), f.acked, len(p.saver.queue))
	}
}

func TestAJobInMotionIsSavedTheLessOftenTheLongerASaveTakes(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	j := p.cache.jobs["j"]
	for _, test := range []struct{ took, after time.Duration }{
		{0, p.SaveAfter}, {time.Millisecond, p.SaveAfter}, {20 * time.Millisecond, 640 * time.Millisecond}, {time.Minute, p.SaveLatest},
	} {
		p.saver.took, j.save.since = test.took, p.now.Add(1-test.after)
		if p.saver.due(j) {
			t.Errorf("saves of %v: due before %v", test.took, test.after)
		}
		if j.save.since = p.now.Add(-test.after); !p.saver.due(j) {
			t.Errorf("saves of %v: not due after %v", test.took, test.after)
		}
	}
}

// The result of a save whose state was dropped meanwhile says what is stored, and nothing about the state in memory.
func TestTheResultOfASaveIsAboutItsState(t *testing.T) {
	state, dropped := &graph.Job{}, &graph.Job{}
	for _, test := range []struct {
		name  string
		saved *graph.Job
		err   error
		good  bool
		want  jobSave
	}{
		{"saved", state, nil, true, jobSave{seq: 9, revision: 5}},
		{"saved before the state was dropped", dropped, nil, true, jobSave{seq: 9, revision: 4}},
		{"another scheduler has saved", state, store.ErrConflict, false, jobSave{seq: 3, revision: 4}},
		{"unknown", state, errAway, false, jobSave{seq: 3, revision: 4}},
		{"unknown before the state was dropped", dropped, errAway, true, jobSave{seq: 3, revision: 4}},
	} {
		for _, j := range []*job{{state: state, save: jobSave{seq: 3, revision: 4}}, {save: jobSave{seq: 3, revision: 4}}} {
			if j.state == nil && test.saved == state {
				continue // Nothing is in memory: every state that was saved was dropped.
			}
			s := newFake().partition(t).saver
			good := s.finish(&saveResult{job: j, state: test.saved, seq: 9, revision: 5, err: test.err})
			if good != test.good || j.save != test.want {
				t.Errorf("%s: good %v, %+v", test.name, good, j.save)
			}
		}
	}
}

func TestOnlyWhatIsSaidIsSaved(t *testing.T) {
	s := newFake().partition(t).saver
	for name, test := range map[string]struct {
		job  job
		want bool
	}{
		"changed":       {job{phase: ready, save: jobSave{changes: 1}}, true},
		"queued":        {job{phase: ready, save: jobSave{changes: 1, phase: saveQueued}}, true},
		"unchanged":     {job{phase: ready}, false},
		"in flight":     {job{phase: inFlight, save: jobSave{changes: 1}}, false},
		"being saved":   {job{phase: ready, save: jobSave{changes: 1, phase: saveUnderWay}}, false},
		"tried again":   {job{phase: ready, save: jobSave{changes: 1}, retry: jobRetry{at: time.Unix(0, 0)}}, false},
		"not in memory": {job{phase: cold, save: jobSave{changes: 1}}, false},
	} {
		if got := s.saveable(&test.job); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAJobIsQueuedForOneSaveAtATime(t *testing.T) {
	s := newFake().partition(t).saver
	j := &job{phase: ready, save: jobSave{changes: 1}}
	s.enqueue(j)
	s.enqueue(j)
	if len(s.queue) != 1 || j.save.phase != saveQueued {
		t.Fatalf("%d in the queue, phase %v", len(s.queue), j.save.phase)
	}
	j.phase = inFlight // Commands were sent since, so it is saved once they are acknowledged.
	if err := s.serve(t.Context()); err != nil || !s.beside.idle() || len(s.queue) != 0 || j.save.phase != saveIdle {
		t.Errorf("under way %v, %d in the queue, phase %v: %v", s.beside.underWay, len(s.queue), j.save.phase, err)
	}
}
