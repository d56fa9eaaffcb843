package access_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A control event that is not signed is read without its data, so that it does nothing, and such an answer is not read at all. Others need
// no signature.
func TestAnEventWithoutItsSignatureHasNoData(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	scheduler, runner, unsigned := s.signed(tenant, "scheduler"), s.signed(tenant, "runner-a"), s.raw(tenant, "admin")
	n := scheduler.Names()
	for _, c := range []struct {
		job    string
		kind   events.Kind
		key    string
		data   any
		signed bool
		want   bool
	}{
		{"stop", events.KindStopRequested, "", &events.StopRequested{By: "boss"}, false, false},
		{"answer", events.KindInputClosed, "q", &events.InputClosed{Action: events.Answered}, false, false},
		{"end", events.KindJobFinished, "", &events.JobEnded{}, false, true},
		{"stopped", events.KindStopRequested, "", &events.StopRequested{By: "boss"}, true, true},
		{"answered", events.KindInputClosed, "q", &events.InputClosed{Action: events.Answered}, true, true},
	} {
		m, err := events.Encode(n, events.Event{Kind: c.kind, ID: c.job, Job: c.job, Key: c.key, Source: "test", Data: c.data})
		if err == nil && c.signed {
			_, err = scheduler.Publish(t.Context(), m, bus.Expect{})
		} else if err == nil {
			_, err = unsigned.RequestMsg(&nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Body}, bound)
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []events.Event
		for e, err := range runner.Log().EventsOf(t.Context(), c.job, 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if c.job == "answer" {
			if len(got) != 0 { // It must not take the place of the true answer.
				t.Errorf("%s: %+v", c.job, got)
			}
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%s has %d events", c.job, len(got))
		}
		e := got[0]
		if e.Kind != c.kind || (e.Data != nil) != c.want || bus.Unsigned(&e) == c.want || !c.want && len(e.Raw) == 0 {
			t.Errorf("%s: %+v", c.job, e)
		}
	}
}

func TestAConnectionKnowsWhatItsKeyMaySign(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	list, now := tenant.Signers(), time.Now()
	b := s.checking(tenant, "scheduler", list)
	if who, ok := b.Self(); !ok || who.Name != "scheduler" {
		t.Errorf("it is %+v, %v", who, ok)
	}
	if since, ok := b.JournalsOfPools(); !ok || !since.Equal(list.Journals) {
		t.Errorf("journals are those of pools since %s, %v", since, ok)
	}
	list.Journals = time.Time{}
	for i := range list.Signers {
		list.Signers[i].Until = &now
	}
	old := s.checking(tenant, "scheduler", list)
	if who, ok := old.Self(); ok {
		t.Errorf("with a key that signs no more it is %+v", who)
	}
	if since, ok := old.JournalsOfPools(); ok {
		t.Errorf("an older list says that journals are those of pools since %s", since)
	}
	if _, ok := s.bus(tenant, "scheduler").Self(); ok {
		t.Error("without a list it may sign")
	}
}

// The rights that a request was left are those of its queue, and of its dead letter.
func TestAQueuedRequestKeepsTheRightsThatItWasLeft(t *testing.T) {
	s := play(t, access.Tenant{Name: "jobgraph", Identities: cast()})
	tenant := &s.tenants[0]
	scheduler, gateway := s.signed(tenant, "scheduler"), s.signed(tenant, "gateway")
	m := events.Message{Subject: gateway.Names().Request(), Header: bus.RequestHeader(bus.WithRights(t.Context(), "submitter")), Body: []byte(`{}`)}
	musttest.Get(gateway.Publish(t.Context(), m, bus.Expect{}))(t)
	queue := musttest.Get(scheduler.Queues().Consume(t.Context(), scheduler.Queues().IntakeConsumer()))(t)
	defer queue.Stop()
	list := musttest.Get(queue.Next(t.Context(), 1))(t)
	if who, asked, err := list[0].Signer(); err != nil || !asked || !slices.Equal(who.Rights, []string{"submitter"}) {
		t.Errorf("in the queue: %+v, %v, %v", who, asked, err)
	}
	musttest.Do(t, list[0].Term("it is of no use"))
	letters, err := scheduler.DeadLetters().List(t.Context())
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	if who, asked, err := scheduler.DeadLetters().Signer(&letters[0]); err != nil || !asked || !slices.Equal(who.Rights, []string{"submitter"}) {
		t.Errorf("as a dead letter: %+v, %v, %v", who, asked, err)
	}
}
