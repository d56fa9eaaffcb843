package bus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func work(b *bus.Bus, pool, job string, run int) events.Message {
	return events.Message{Subject: b.Names().WorkFor(pool, "e", job, "a", run), Body: []byte(`{}`)}
}

// take reads exactly n deliveries.
func take(t testing.TB, s *bus.Subscription, n int) []bus.Delivery {
	t.Helper()
	return takeUntil(t.Context(), t, s, n)
}

// takeUntil is take for deliveries that may never come.
func takeUntil(ctx context.Context, t testing.TB, s *bus.Subscription, n int) []bus.Delivery {
	t.Helper()
	var all []bus.Delivery
	for len(all) < n {
		list, err := s.Next(ctx, n-len(all))
		if err != nil {
			t.Fatalf("after %d of %d deliveries: %v", len(all), n, err)
		}
		all = append(all, list...)
	}
	return all
}

func reader(t testing.TB, b *bus.Bus, c bus.ConsumerSpec) *bus.Subscription {
	t.Helper()
	noErr(t, b.Queues().EnsureConsumer(t.Context(), c))
	s, err := b.Queues().Consume(t.Context(), c)
	noErr(t, err)
	t.Cleanup(s.Stop)
	return s
}

func TestPlannerPoolIsAPoolLikeAnyOther(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	noErr(t, b.Queues().EnsurePool(t.Context(), events.PlannerPool))
	s := reader(t, b, b.Queues().PoolConsumer(events.PlannerPool))
	put(t, b, work(b, events.PlannerPool, "j1", 1))
	put(t, b, work(b, "default", "j1", 1))
	d := take(t, s, 1)[0]
	if d.Message().Subject != "jobs.work.~planner.e.j1.a.1" || d.Delivered() != 1 || d.Seq() != 1 || d.ConsumerSeq() != 1 {
		t.Fatalf("delivery is %s, %d, %d, %d", d.Message().Subject, d.Delivered(), d.Seq(), d.ConsumerSeq())
	}
	wantErr(t, b.Queues().EnsurePool(t.Context(), "a.b"), bus.ErrRefused)
}

func TestABoundOfAPoolStaysUntilItIsSetAgain(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		noErr(t, b.Queues().BoundPool(t.Context(), "mine", 2, true))
		noErr(t, b.Queues().EnsurePool(t.Context(), "mine")) // By a runner that knows of no bound.
		c := b.Queues().PoolConsumer("mine")
		s := reader(t, b, c)
		for run := range 7 {
			put(t, b, work(b, "mine", "j1", run+1))
		}
		waits := func(want uint64) {
			t.Helper()
			<-time.After(time.Second)
			if facts, err := b.Queues().Info(t.Context(), c.Stream, c.Durable); err != nil || facts.Pending != want {
				t.Fatalf("%+v, %v: want %d that wait", facts, err, want)
			}
		}
		waits(5)
		for _, d := range take(t, s, 2) {
			noErr(t, d.Ack())
		}
		waits(3)
		noErr(t, b.Queues().BoundPool(t.Context(), "mine", 0, true))
		waits(0)
	})
}

func TestWorkIsSharedAndGoneWhenSettled(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	c := b.Queues().PoolConsumer("default")
	c.Buffer = 4
	first, second := reader(t, b, c), reader(t, b, c)
	for run := range 100 {
		put(t, b, work(b, "default", "j1", run+1))
	}
	got := make(chan int, 2)
	for _, s := range []*bus.Subscription{first, second} {
		go func() {
			n := 0
			defer func() { got <- n }()
			for {
				list, err := s.Next(t.Context(), 10)
				if err != nil {
					return
				}
				for i := range list {
					if list[i].Ack() != nil {
						return
					}
				}
				n += len(list)
			}
		}()
	}
	waitFor(t, func() bool {
		facts, err := b.Streams().Info(t.Context(), b.Names().Work)
		noErr(t, err)
		return facts.Messages == 0
	})
	first.Stop()
	second.Stop()
	if n := <-got + <-got; n != 100 {
		t.Fatalf("%d deliveries, want 100", n)
	}
}

// waitFor asks the server repeatedly until a condition holds.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("did not come to hold")
		}
	}
}

func TestRefusedWorkComesBackAfterItsDelay(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		s := reader(t, b, b.Queues().PoolConsumer("default"))
		put(t, b, work(b, "default", "j1", 1))
		start := time.Now()
		d := take(t, s, 1)
		noErr(t, d[0].Nak(time.Hour))
		d = take(t, s, 1)
		if waited := time.Since(start); d[0].Delivered() != 2 || waited < time.Hour || waited > time.Hour+time.Minute {
			t.Fatalf("delivery %d after %s", d[0].Delivered(), waited)
		}
		noErr(t, d[0].Nak(0))
		if d = take(t, s, 1); d[0].Delivered() != 3 {
			t.Fatalf("delivery %d, want 3", d[0].Delivered())
		}
		noErr(t, d[0].Ack())
	})
}

func TestSilentReaderLosesItsWorkAndBusyOneKeepsIt(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		s := reader(t, b, b.Queues().PoolConsumer("default"))
		put(t, b, work(b, "default", "j1", 1))
		start := time.Now()
		d := take(t, s, 1)
		for range 10 {
			<-time.After(bus.PoolAckWait * 2 / 3)
			noErr(t, d[0].InProgress())
		}
		d = take(t, s, 1)
		if waited := time.Since(start); d[0].Delivered() != 2 || waited < bus.PoolAckWait*7 {
			t.Fatalf("delivery %d after %s", d[0].Delivered(), waited)
		}
		noErr(t, d[0].Term("hopeless"))
		waitFor(t, func() bool { // The server handles answers in a separate goroutine.
			facts, err := b.Streams().Info(t.Context(), b.Names().Work)
			noErr(t, err)
			return facts.Messages == 0
		})
	})
}

// Messages for which a busy reader has no room are not kept from an idle one.
func TestAReaderOnDemandHoldsNoMoreThanItAskedFor(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		b := bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")
		c := b.Queues().PoolConsumer("default")
		c.OnDemand = true
		busy, idle := reader(t, b, c), reader(t, b, c)
		for run := range 4 {
			put(t, b, work(b, "default", "j1", run+1))
		}
		start := time.Now()
		take(t, busy, 1)
		if got := take(t, idle, 3); got[0].Delivered() != 1 || time.Since(start) >= bus.PoolAckWait {
			t.Fatalf("delivery %d after %s", got[0].Delivered(), time.Since(start))
		}
		put(t, b, work(b, "default", "j1", 5))
		<-time.After(time.Minute) // Neither asks, whatever expires or goes by meanwhile.
		if facts, err := b.Queues().Info(t.Context(), c.Stream, c.Durable); err != nil || facts.Pending != 1 {
			t.Fatalf("a message was delivered without a request: %+v, %v", facts, err)
		}
	})
}

func TestDrainGivesWhatArrivedAndLeavesTheRestToOthers(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	for run := range 20 {
		put(t, b, work(b, "default", "j1", run+1))
	}
	got := map[uint64]bool{}
	settle := func(list []bus.Delivery) {
		for i := range list {
			got[list[i].Seq()] = true
			noErr(t, list[i].Ack())
		}
	}
	settle(take(t, s, 1))
	s.Drain()
	for {
		list, err := s.Next(t.Context(), 3)
		if err != nil {
			wantErr(t, err, bus.ErrClosed)
			break
		}
		settle(list)
	}
	other := reader(t, b, b.Queues().PoolConsumer("default"))
	for len(got) < 20 {
		settle(take(t, other, 1))
	}
	s.Stop()
	_, err := s.Next(t.Context(), 1)
	wantErr(t, err, bus.ErrClosed)
}

func TestStoppedReaderGivesNothing(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	put(t, b, work(b, "default", "j1", 1))
	waitFor(t, func() bool {
		facts, err := b.Queues().Info(t.Context(), b.Names().Work, "pool-default")
		noErr(t, err)
		return facts.Unsettled == 1
	})
	s.Stop()
	s.Stop()
	_, err := s.Next(t.Context(), 1)
	wantErr(t, err, bus.ErrClosed)
}

func TestNextEndsWithItsContext(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Next(ctx, 1)
	wantErr(t, err, context.Canceled)
}

func TestDeletedConsumerIsTold(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	noErr(t, sdk(t, server).DeleteConsumer(t.Context(), "JOBS_WORK", "pool-default"))
	_, err := s.Next(t.Context(), 1)
	wantErr(t, err, bus.ErrNotFound)
	_, err = b.Queues().Consume(t.Context(), b.Queues().PoolConsumer("default"))
	wantErr(t, err, bus.ErrNotFound)
}

func TestConsumptionGoesOnAfterARestartOfTheServer(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	s := reader(t, b, b.Queues().PoolConsumer("default"))
	put(t, b, work(b, "default", "j1", 1))
	noErr(t, take(t, s, 1)[0].Ack())
	back := make(chan struct{}, 1)
	b.OnReconnect(func() { back <- struct{}{} })
	server.Stop()
	server.Start()
	<-back
	put(t, b, work(b, "default", "j1", 2))
	for {
		if d := take(t, s, 1)[0]; d.Seq() == 2 {
			break
		}
	}
}

func TestPartitionsCoverEveryShardOnce(t *testing.T) {
	server := bustest.Start(t, bustest.Settings{})
	b := server.Bus("test")
	for _, of := range []int{1, 4, 64} {
		seen := map[string]bool{}
		for p := range of {
			for _, filter := range b.Queues().SchedulerConsumer(p, of).Filters {
				if seen[filter] {
					t.Errorf("%s is in two partitions of %d", filter, of)
				}
				seen[filter] = true
			}
		}
		if want := 64; of > 1 && len(seen) != want {
			t.Errorf("%d shards in %d partitions", len(seen), of)
		}
	}
	_, err := b.Queues().EnsurePartitions(t.Context(), 3)
	wantErr(t, err, bus.ErrRefused)
}

func TestChangedPartitionsSkipNothing(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().SchedulerConsumer(0, 1))
	jobs := []string{"j1", "j2", "j3", "j4", "j5", "j6"}
	for _, job := range jobs {
		put(t, b, fact(b, job, "a"))
	}
	list := take(t, s, 6)
	for i := range 3 {
		noErr(t, list[i].Ack())
	}
	waitFor(t, func() bool {
		facts, err := b.Queues().Info(t.Context(), b.Names().Log, "scheduler-0of1")
		noErr(t, err)
		return facts.AckFloor == 3
	})
	specs, err := b.Queues().EnsurePartitions(t.Context(), 2)
	noErr(t, err)
	noErr(t, b.Queues().RetirePartitions(t.Context(), 2))
	_, err = b.Queues().Info(t.Context(), b.Names().Log, "scheduler-0of1")
	noErr(t, err) // It was read just before.
	got := map[uint64]bool{}
	for _, spec := range specs {
		s := reader(t, b, spec)
		n := 0
		for _, job := range jobs[3:] {
			if events.ShardOf(job)%2 == map[string]int{"scheduler-0of2": 0, "scheduler-1of2": 1}[spec.Durable] {
				n++
			}
		}
		for _, d := range take(t, s, n) {
			got[d.Seq()] = true
		}
	}
	if fmt.Sprint(got) != "map[4:true 5:true 6:true]" {
		t.Fatalf("delivered %v, want 4 to 6", got)
	}
}

func TestNobodyCanSpeakWithTheServersVoice(t *testing.T) {
	b := bustest.Start(t, bustest.Settings{}).Bus("test")
	s := reader(t, b, b.Queues().SchedulerConsumer(0, 1))
	follow, err := b.Log().Follow(t.Context(), b.Names().AllEvents(), bus.FollowOptions{})
	noErr(t, err)
	defer follow.Stop()
	headers := []map[string][]string{
		{"Status": {"400"}, "Description": {"Bad Request"}},
		{"Status": {"409"}, "Description": {"Consumer Deleted"}},
		{"Status": {"503"}},
		{"Status": {"100"}, "Nats-Last-Consumer": {"9"}},
		{"Status": {"423"}, "Nats-Pin-Id": {"x"}},
		{"Nats-Sequence": {"1"}, "Nats-Subject": {"x"}, "Nats-Time-Stamp": {"x"}, "Nats-Stream": {"x"}},
	}
	for i, header := range headers {
		m := events.Message{Subject: b.Names().Event("j1", events.KindInputClosed, fmt.Sprint(i)), Header: header}
		musttest.Get(b.Publish(t.Context(), m, bus.Expect{}))(t)
	}
	for i, d := range append(take(t, s, len(headers)), take(t, follow, len(headers))...) {
		if want := uint64(i%len(headers) + 1); d.Seq() != want {
			t.Fatalf("place %d has sequence %d, want %d", i, d.Seq(), want)
		}
		noErr(t, d.Ack())
	}
	if got := seqs(t, b, "j1", 0); len(got) != len(headers) {
		t.Fatalf("the log gives %v", got)
	}
	for i := range headers {
		e, err := b.Log().EventAt(t.Context(), uint64(i+1))
		noErr(t, err)
		if e.Key != fmt.Sprint(i) {
			t.Fatalf("event %d has key %s", i+1, e.Key)
		}
	}
}
