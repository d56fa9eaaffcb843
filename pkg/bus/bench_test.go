package bus_test

import (
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// over runs a benchmark in process and over TCP.
func over(b *testing.B, f func(b *testing.B, c *bus.Bus)) {
	for _, way := range []string{"process", "tcp"} {
		b.Run(way, func(b *testing.B) {
			server := bustest.Start(b, bustest.Settings{})
			o := server.Options("bench")
			if way == "tcp" {
				o.InProcess, o.URL = nil, server.URL()
			}
			c, err := bus.Connect(b.Context(), o)
			noErr(b, err)
			defer c.Close()
			noErr(b, c.Streams().Init(b.Context()))
			noErr(b, c.Streams().Drop(b.Context()))
			noErr(b, c.Streams().Init(b.Context()))
			b.ReportAllocs()
			b.ResetTimer()
			f(b, c)
		})
	}
}

// publish sends b.N facts in groups of 256, each on a separate subject.
func publish(b *testing.B, c *bus.Bus) {
	acks := make([]bus.Ack, 0, 256)
	for i := range b.N {
		acks = append(acks, c.PublishAsync(fact(c, "j1", fmt.Sprint(i)), bus.ExpectNone()))
		if len(acks) == cap(acks) || i == b.N-1 {
			for _, ack := range acks {
				_, err := ack.Wait(b.Context())
				noErr(b, err)
			}
			acks = acks[:0]
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func BenchmarkPublishAsync(b *testing.B) { over(b, publish) }

// BenchmarkPublishWork compares work on a bus without roles and with them, where its pool has a consumer first.
func BenchmarkPublishWork(b *testing.B) {
	for _, roles := range []bool{false, true} {
		b.Run(fmt.Sprintf("roles=%t", roles), func(b *testing.B) {
			server := bustest.Start(b, bustest.Settings{})
			c := server.Bus("bench")
			noErr(b, c.Queues().EnsurePool(b.Context(), "p"))
			if roles {
				c = withRoles(b, server)
			}
			b.ResetTimer()
			acks := make([]bus.Ack, 0, 256)
			for i := range b.N {
				acks = append(acks, c.PublishAsync(work(c, "p", "j", i+1), bus.Expect{}))
				if len(acks) == cap(acks) || i == b.N-1 {
					for _, ack := range acks {
						_, err := ack.Wait(b.Context())
						noErr(b, err)
					}
					acks = acks[:0]
				}
			}
		})
	}
}

func BenchmarkPublishOne(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		for i := range b.N {
			_, err := c.Publish(b.Context(), fact(c, "j1", fmt.Sprint(i)), bus.ExpectNone())
			noErr(b, err)
		}
	})
}

func BenchmarkConsume(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		publish(b, c)
		s := reader(b, c, c.Queues().SchedulerConsumer(0, 1))
		b.ResetTimer()
		for n := 0; n < b.N; {
			list, err := s.Next(b.Context(), 512)
			noErr(b, err)
			for i := range list {
				if _, ok := list[i].Event(); !ok {
					b.Fatal("no event")
				}
				noErr(b, list[i].Ack())
			}
			n += len(list)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	})
}

func BenchmarkEventsOf(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		publish(b, c)
		b.ResetTimer()
		n := 0
		for _, err := range c.Log().EventsOf(b.Context(), "j1", 0) {
			noErr(b, err)
			n++
		}
		if n != b.N {
			b.Fatalf("%d events, want %d", n, b.N)
		}
	})
}

func BenchmarkNoNews(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		put(b, c, fact(c, "j1", "a"))
		b.ResetTimer()
		for range b.N {
			for range c.Log().EventsOf(b.Context(), "j1", 1) {
				b.Fatal("there is news")
			}
		}
	})
}

func BenchmarkJournalAppend(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		r := events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "runner"}
		for i := range b.N {
			_, err := c.Journal("j1", fmt.Sprint(i)).Append(b.Context(), r, 0)
			noErr(b, err)
		}
	})
}

func BenchmarkStateUpdate(b *testing.B) {
	over(b, func(b *testing.B, c *bus.Bus) {
		value := make([]byte, 4<<10)
		rev := uint64(0)
		for range b.N {
			var err error
			rev, err = c.State().Update(b.Context(), "j1", value, rev)
			noErr(b, err)
		}
	})
}
