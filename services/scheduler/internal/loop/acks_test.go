package loop

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// slip records what happens to one delivery.
type slip struct{ acked, told int }

func (s *slip) Ack() error        { s.acked++; return nil }
func (s *slip) InProgress() error { s.told++; return nil }

// newAcks makes a tracker with n deliveries, events 1 to n.
func newAcks(n int) (a *ackTracker, j *jobAcks, slips []*slip) {
	a, j = &ackTracker{env: &env{Settings: Default(events.NewNames(""), slog.New(slog.DiscardHandler)), now: time.Unix(0, 0)}}, &jobAcks{}
	list := make([]Delivery, n)
	for i := range list {
		slips = append(slips, &slip{})
		list[i] = Delivery{Event: events.Event{Seq: uint64(i + 1)}, ConsumerSeq: uint64(i + 1), Acker: slips[i]}
	}
	added := a.add(list)
	for i := range added {
		j.add(&added[i])
	}
	return a, j, slips
}

func TestAGapIsADeliveryThatAnotherSchedulerHad(t *testing.T) {
	a, _, _ := newAcks(0)
	for i, test := range []struct {
		seqs []uint64
		want bool
	}{{[]uint64{7, 8}, false}, {[]uint64{9}, false}, {nil, false}, {[]uint64{11}, true}, {[]uint64{12, 14}, true}, {[]uint64{15}, false}} {
		var list []Delivery
		for _, seq := range test.seqs {
			list = append(list, Delivery{ConsumerSeq: seq})
		}
		if got := a.gap(list); got != test.want {
			t.Errorf("batch %d: gap %v", i, got)
		}
	}
}

func TestTheLastEventOfABatchIsTheNewest(t *testing.T) {
	for want, seqs := range map[uint64][]uint64{0: nil, 7: {7}, 9: {5, 9, 8}} {
		var b Batch
		for _, seq := range seqs {
			b.Deliveries = append(b.Deliveries, Delivery{Event: events.Event{Seq: seq}})
		}
		if got := b.seen(); got != want {
			t.Errorf("of %d: %d, want %d", seqs, got, want)
		}
	}
}

// What was delivered before may come in any order. It is found, and covered, like everything else.
func TestDeliveriesOutOfOrderAreCoveredInTheOrderOfTheLog(t *testing.T) {
	a, j, slips := newAcks(0)
	for _, seq := range []uint64{4, 2, 9, 1, 7} {
		slips = append(slips, &slip{})
		list := a.add([]Delivery{{Event: events.Event{Seq: seq}, Acker: slips[len(slips)-1]}})
		if a.merge(j, &list[0]) {
			t.Fatalf("event %d is taken for a repeat", seq)
		}
		j.add(&list[0])
	}
	again := &slip{}
	if repeat := a.add([]Delivery{{Event: events.Event{Seq: 2}, Acker: again}}); !a.merge(j, &repeat[0]) {
		t.Error("a repeat is not found among deliveries that came out of order")
	}
	a.markCovered(j, 4)
	if err := a.flush(); err != nil {
		t.Fatal(err)
	}
	got := []int{slips[0].acked, slips[1].acked, slips[2].acked, slips[3].acked, slips[4].acked, again.acked, a.open, len(j.open)}
	if want := []int{1, 0, 0, 1, 0, 1, 2, 2}; !cmp.Equal(got, want) {
		t.Errorf("acknowledged and open: %v, want %v", got, want)
	}
}

func TestWhatASaveCoversIsAcknowledgedOnce(t *testing.T) {
	a, j, slips := newAcks(3)
	a.markCovered(j, 2)
	for range 2 {
		musttest.Do(t, a.flush())
	}
	if got := []int{slips[0].acked, slips[1].acked, slips[2].acked, a.open, len(j.open)}; !cmp.Equal(got, []int{1, 1, 0, 1, 1}) {
		t.Errorf("acknowledged and open: %v", got)
	}
	a.markAll(j)
	if err := a.flush(); err != nil || a.open != 0 || slips[2].acked != 1 {
		t.Errorf("%d open: %v", a.open, err)
	}
}

func TestOneAcknowledgementSettlesARepeatAndTheFirst(t *testing.T) {
	a, j, slips := newAcks(2)
	again := &slip{}
	repeat := a.add([]Delivery{{Event: events.Event{Seq: 2}, Acker: again}})
	if !a.merge(j, &repeat[0]) {
		t.Fatal("a repeat of what is open was taken for news")
	}
	a.markAll(j)
	if err := a.flush(); err != nil || a.open != 0 || again.acked != 1 || slips[1].acked != 0 {
		t.Errorf("%d open, the repeat acknowledged %d times, the first %d: %v", a.open, again.acked, slips[1].acked, err)
	}
	if late := a.add([]Delivery{{Event: events.Event{Seq: 2}, Acker: again}}); a.merge(j, &late[0]) {
		t.Error("a repeat of what is acknowledged was taken for one of what is open")
	}
}

func TestTheConsumerIsToldInTimeAndNotForEver(t *testing.T) {
	a, _, slips := newAcks(1)
	for i := range 2 * maxTells {
		a.now = a.now.Add(tellAfter - 1)
		musttest.Do(t, a.flush())
		if want := min(i, maxTells); slips[0].told != want {
			t.Fatalf("told %d times right before its time, want %d", slips[0].told, want)
		}
		a.now = a.now.Add(1)
		musttest.Do(t, a.flush())
	}
	if slips[0].told != maxTells {
		t.Errorf("told %d times", slips[0].told)
	}
}

func TestDeliveriesOfAJobThatWaitsAreKeptForAWhile(t *testing.T) {
	a, j, _ := newAcks(2)
	if !a.keeps(j) {
		t.Error("not kept at first")
	}
	if a.now = a.now.Add(turnPatience); a.keeps(j) {
		t.Error("kept for longer than a wait may last")
	}
	j.keepNoLonger()
	if !a.keeps(j) {
		t.Error("the next wait does not begin")
	}
	if many, crowded, _ := newAcks(maxKept + 1); many.keeps(crowded) {
		t.Error("so many are kept that others find no room")
	}
}
