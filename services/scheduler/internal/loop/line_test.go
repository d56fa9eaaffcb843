package loop

import (
	"testing"
	"time"
)

func TestASaveWithoutRoomStandsInLineForIt(t *testing.T) {
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
	if err := p.Replay(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if len(f.states) != 3 || f.acked != 3 || len(p.line) != 0 {
		t.Errorf("%d states saved, %d deliveries acknowledged, %d in line", len(f.states), f.acked, len(p.line))
	}
}

func TestAJobInMotionIsSavedTheLessOftenTheLongerASaveTakes(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	j := p.jobs["j"]
	for _, test := range []struct{ took, after time.Duration }{
		{0, p.SaveAfter}, {time.Millisecond, p.SaveAfter}, {20 * time.Millisecond, 640 * time.Millisecond}, {time.Minute, p.SaveLatest},
	} {
		p.saveTook, j.since = test.took, p.now.Add(1-test.after)
		if p.due(j) {
			t.Errorf("saves of %v: due before %v", test.took, test.after)
		}
		if j.since = p.now.Add(-test.after); !p.due(j) {
			t.Errorf("saves of %v: not due after %v", test.took, test.after)
		}
	}
}

func TestAReceiptIsLookedAtOncePerSave(t *testing.T) {
	f := newFake()
	p := f.partition(t)
	requested, created := f.begin()
	f.deliver(t, p, 1, true, requested)
	f.deliver(t, p, 2, true, created)
	j := p.jobs["j"]
	if len(j.unacked) == 0 || j.looked != len(j.unacked) {
		t.Fatalf("%d of %d receipts were looked at", j.looked, len(j.unacked))
	}
	j.savedSeq = created.Seq
	p.cover(j)
	if len(j.unacked) != 0 {
		t.Errorf("%d receipts are left behind a save that covers them", len(j.unacked))
	}
}
