package live_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/service/live"
)

// BenchmarkStreams runs 1,000 runs that write 50 pieces a second each, as agents do: a piece for current listeners, and an item.
// One iteration takes two seconds. It reports how many processors broker and writer use together, and the messages per second.
func BenchmarkStreams(b *testing.B) {
	const streams, perSecond, seconds = 1000, 50, 2
	s := bustest.Start(b, bustest.Settings{Quiet: true})
	c := s.Bus("bench")
	w := live.New(live.OnBus(c), nil)
	defer w.Close(b.Context())
	log := service.NewLog(c, nil, true)
	runs := make([]*live.Run, streams)
	for n := range runs {
		runs[n] = w.Open(fmt.Sprint("j", n), "a", 1, "x")
	}
	_, before, err := c.Items().Bounds(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	cpu, begun, offset := used(), time.Now(), 0
	for b.Loop() {
		var writers sync.WaitGroup // Each goroutine ends after its pieces.
		for part := range 10 {
			writers.Go(func() {
				start, at := time.Now(), offset
				for tick := range perSecond * seconds {
					due := start.Add(time.Duration(tick) * time.Second / perSecond)
					<-time.After(time.Until(due.Add(time.Duration(part) * time.Second / perSecond / 10)))
					for n := part; n < streams; n += 10 {
						body, _ := json.Marshal(map[string]any{"item": "answer/1", "offset": at, "text": "token "}) // This can always be encoded.
						log.Live(fmt.Sprint("j", n), "a", "", body)
						runs[n].Show(item.Item{Type: item.Text, ID: "answer/1", Offset: at, Text: "token "})
					}
					at += len("token ")
				}
			})
		}
		writers.Wait()
		offset += perSecond * seconds * len("token ")
	}
	took := time.Since(begun).Seconds()
	_, after, err := c.Items().Bounds(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric((used()-cpu).Seconds()/took, "cores")
	b.ReportMetric(float64(after-before)/took, "messages/s")
}

// used returns the processor time of this process, which includes the broker.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // It cannot fail for the own process.
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
