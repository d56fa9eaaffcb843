package bus_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAFactIsStatedIfNoOtherFactOfItsScheduleWas(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s, n := b.Schedules(), b.Schedules().Names()
	state := func(id string, data any, last uint64) (uint64, error) {
		f := schedule.Fact{Kind: schedule.Created, ID: id, Name: id, Data: data}
		return s.State(t.Context(), f, bus.Expect{Last: &last, Subject: n.Facts(id)})
	}
	one := musttest.Get(state("a", &schedule.Creation{}, 0))(t)
	musttest.Get(state("b", &schedule.Creation{}, 0))(t)
	word := schedule.Fact{Kind: schedule.Paused, ID: "a", Name: "a", Data: &schedule.Word{}}
	two := musttest.Get(s.State(t.Context(), word, bus.Expect{}))(t)
	if _, err := state("a", &schedule.Creation{}, one); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("behind another fact: %v", err)
	}
	if _, err := state("a", &schedule.Creation{}, two); err != nil {
		t.Errorf("behind the last fact: %v", err)
	}
}

func TestADueMomentIsAFactOfItsScheduleAlone(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		s := b.Schedules()
		sub := musttest.Get(s.Follow(t.Context()))(t)
		defer sub.Stop()
		due := time.Now().UTC().Truncate(time.Second).Add(2 * time.Hour)
		for range 2 {
			musttest.Do(t, s.Arm(t.Context(), "nightly", schedule.Key(due), due))
		}
		list, err := sub.Next(t.Context(), 8)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		f, ok := s.Fact(&list[0])
		want := schedule.Fact{Kind: schedule.Due, ID: "nightly", Key: schedule.Key(due), Data: &schedule.Moved{Due: due}}
		got := schedule.Fact{Kind: f.Kind, ID: f.ID, Key: f.Key, Data: f.Data, Fault: f.Fault}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("fact %v (-want +got):\n%s", ok, diff)
		}
		if late := f.Time.Sub(due); late < 0 || late > time.Second {
			t.Errorf("it fired %s late", late)
		}
		log, err := b.Streams().Info(t.Context(), b.Names().Log)
		if err != nil || log.Messages != 0 {
			t.Errorf("the log of jobs has %d messages, %v", log.Messages, err)
		}
		musttest.Do(t, s.Erase(t.Context(), "nightly", list[0].Seq()+1))
		if last, err := s.Last(t.Context()); err != nil || last != 0 {
			t.Errorf("%d is left, %v", last, err)
		}
	})
}
