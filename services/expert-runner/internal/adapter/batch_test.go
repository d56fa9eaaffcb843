package adapter

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
)

// batches is a source of batches over a real server, in virtual time.
func batches(t *testing.T, lingers bool, f func(t *testing.T, e *servicetest.Env, s *Batches)) {
	t.Helper()
	servicetest.Virtual(t, func(t *testing.T, e *servicetest.Env) {
		s := musttest.Get(OpenBatches(t.Context(), e.Bus, events.DefaultPool, lingers, slog.New(slog.DiscardHandler)))(t)
		f(t, e, s)
	})
}

func subjectOf(e *servicetest.Env, i int) string {
	return e.Names.WorkFor(events.DefaultPool, "x", "j", "s"+strconv.Itoa(i), 1)
}

// send publishes a batch of the SubJobs from to below to.
func send(e *servicetest.Env, from, to int) {
	e.Helper()
	var body []byte
	for i := from; i < to; i++ {
		body = batch.Append(body, &batch.Member{Subject: subjectOf(e, i), ID: "id" + strconv.Itoa(i), Trace: "t", Work: []byte(`{"subjob":"s` + strconv.Itoa(i) + `"}`)})
	}
	e.Publish(batch.Subject(e.Names, events.DefaultPool, "x", "j", to-from), body)
}

// queued returns the subjects of the messages in the queue of work.
func queued(t *testing.T, e *servicetest.Env) []string {
	t.Helper()
	synctest.Wait()
	subjects := musttest.Get(e.Bus.Streams().Subjects(t.Context(), e.Names.Work, e.Names.AllWork()))(t)
	return slices.Sorted(maps.Keys(subjects))
}

func next(t *testing.T, s *Batches, most int) []queue.Delivery {
	t.Helper()
	return musttest.Get(s.Next(t.Context(), most))(t)
}

func TestMembersOfABatchAreHandedOutAsWorkOfTheirOwn(t *testing.T) {
	batches(t, true, func(t *testing.T, e *servicetest.Env, s *Batches) {
		send(e, 0, 3)
		send(e, 3, 5)
		var got []string
		var all []queue.Delivery
		for len(all) < 5 {
			list := next(t, s, 2)
			if len(list) > 2 {
				t.Fatalf("%d for 2 places", len(list))
			}
			for _, d := range list {
				got = append(got, d.Subject+" "+string(d.Body)+" "+d.Trace+" "+strconv.Itoa(d.Count))
			}
			all = append(all, list...)
		}
		var want []string
		for i := range 5 {
			want = append(want, subjectOf(e, i)+` {"subjob":"s`+strconv.Itoa(i)+`"} t 1`)
		}
		musttest.Equal(t, want, got)
		settle(t, all[:2])
		<-time.After(ackDelay * 2)
		if n := left(t, e); n != 2 {
			t.Errorf("%d batches are left while one of each is at work", n)
		}
		settle(t, all[2:])
		<-time.After(ackDelay * 2)
		if n := left(t, e); n != 0 {
			t.Errorf("%d messages are left when all is done", n)
		}
	})
}

// A runner that is full does not keep work for which others have room.
func TestAMemberWithoutAPlaceGoesBackByItself(t *testing.T) {
	batches(t, true, func(t *testing.T, e *servicetest.Env, s *Batches) {
		send(e, 0, 3)
		first := next(t, s, 1)
		<-time.After(batchPatience - time.Millisecond)
		if list := queued(t, e); len(list) != 1 {
			t.Errorf("%q before its time", list)
		}
		<-time.After(2 * time.Millisecond)
		musttest.Equal(t, []string{subjectOf(e, 1), subjectOf(e, 2), batch.Subject(e.Names, "default", "x", "j", 3)}, queued(t, e))
		settle(t, first)
		<-time.After(ackDelay * 2)
		musttest.Equal(t, []string{subjectOf(e, 1), subjectOf(e, 2)}, queued(t, e))
	})
}

func TestAMemberThatIsGivenBackOrUpGoesBackByItself(t *testing.T) {
	for verb, giveUp := range map[string]func(queue.Receipt) error{
		"nak": func(r queue.Receipt) error { return r.Nak(time.Hour) }, "term": func(r queue.Receipt) error { return r.Term("no") },
	} {
		batches(t, true, func(t *testing.T, e *servicetest.Env, s *Batches) {
			send(e, 0, 2)
			list := next(t, s, 2)
			musttest.Do(t, giveUp(list[0].Receipt))
			settle(t, list[1:])
			<-time.After(ackDelay * 2)
			if diff := cmp.Diff([]string{subjectOf(e, 0)}, queued(t, e)); diff != "" {
				t.Errorf("%s: %s", verb, diff)
			}
		})
	}
}

// Work in hand is not redelivered to another runner as long as this one sends heartbeats, and is if it does not.
func TestABatchComesAgainWhenItsRunnerIsSilent(t *testing.T) {
	batches(t, true, func(t *testing.T, e *servicetest.Env, s *Batches) {
		send(e, 0, 2)
		list := next(t, s, 2)
		settle(t, list[:1])
		for range 4 {
			<-time.After(bus.PoolAckWait / 2)
			musttest.Do(t, list[1].Receipt.InProgress())
		}
		soon, cancel := context.WithTimeout(t.Context(), bus.PoolAckWait/2)
		defer cancel()
		if again, err := s.Next(soon, 1); err == nil {
			t.Errorf("%s came again while its runner is at it", again[0].Subject)
		}
		for i, d := range next(t, s, 2) {
			if d.Subject != subjectOf(e, i) || d.Count != 2 {
				t.Errorf("%s, delivery %d", d.Subject, d.Count)
			}
		}
	})
}

func TestWhatIsNoBatchIsSetAside(t *testing.T) {
	batches(t, true, func(t *testing.T, e *servicetest.Env, s *Batches) {
		e.Publish(batch.Subject(e.Names, events.DefaultPool, "x", "j", 2), []byte("{}"))
		send(e, 0, 1)
		settle(t, next(t, s, 1))
		<-time.After(ackDelay * 2)
		if n := left(t, e); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		facts, err := e.Bus.Streams().Info(t.Context(), e.Names.Aside)
		if err != nil || facts.Messages != 1 {
			t.Errorf("%d set aside, %v", facts.Messages, err)
		}
	})
}

// The next reader of the pool may be of a release without batches. Schedulers learn that this runner takes no more batches shortly
// after it stops.
func TestARunnerThatStopsLeavesNoBatchBehind(t *testing.T) {
	for _, lingers := range []bool{true, false} {
		batches(t, lingers, func(t *testing.T, e *servicetest.Env, s *Batches) {
			send(e, 0, 3)
			first := next(t, s, 1)
			for i := range 4 {
				send(e, 3+2*i, 5+2*i)
			}
			late := 0
			if lingers {
				late = 2
				go func() {
					<-time.After(bus.BatchLinger / 2)
					send(e, 11, 13)
				}()
			}
			begun := time.Now()
			s.Stop()
			if took := time.Since(begun); !lingers && took >= time.Second {
				t.Errorf("it took %s", took)
			}
			settle(t, first)
			var want []string
			for i := 1; i < 11+late; i++ {
				want = append(want, subjectOf(e, i))
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, queued(t, e)); diff != "" {
				t.Errorf("lingers %v: %s", lingers, diff)
			}
		})
	}
}
