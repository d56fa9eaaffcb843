//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

const (
	gateway      = "gateway"
	gatewayToken = "a-start-token-of-length"
)

// state publishes a fact, and returns its place in the log.
func (s *stack) state(e events.Event) uint64 {
	s.t.Helper()
	e.Source = "test"
	b := s.bus.Bus()
	m := musttest.Get(events.Encode(b.Names(), e))(s.t)
	return musttest.Get(b.Publish(s.t.Context(), m, bus.Expect{}))(s.t)
}

// sseReader reads the events of a job until its end, over as many connections as that takes.
type sseReader struct {
	url  string
	news chan struct{} // Gets a value with each event. The channel may drop values, not events.
	got  []uint64      // Owned by run until it has ended.
}

// run keeps reconnecting, each time after the last event.
func (r *sseReader) run(ctx context.Context) {
	transport := &http.Transport{DisableKeepAlives: true}
	for ctx.Err() == nil {
		if r.connect(ctx, transport) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// connect reads until the connection breaks; done is true once the stream is complete.
func (r *sseReader) connect(ctx context.Context, transport *http.Transport) (done bool) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return true
	}
	q.Header.Set("Authorization", "Bearer "+gatewayToken)
	q.Header.Set("Accept", "text/event-stream")
	if len(r.got) > 0 {
		q.Header.Set("Last-Event-ID", strconv.FormatUint(r.got[len(r.got)-1], 10))
	}
	answer, err := transport.RoundTrip(q)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }() // It may break off in the middle.
	if answer.StatusCode == http.StatusNoContent {
		return true
	}
	var seq uint64
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		line := lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			seq, _ = strconv.ParseUint(id, 10, 64) // The comparison detects a wrong one.
		}
		switch {
		case line == "event: end":
			return true
		case line == "" && seq > 0: // An event counts once it is complete.
			r.got, seq = append(r.got, seq), 0
			select {
			case r.news <- struct{}{}:
			default:
			}
		}
	}
	return false
}

// hook is a server that receives webhooks.
type hook struct {
	*httptest.Server
	mu   sync.Mutex        // Guards told and odd.
	told map[string]string // Bodies by their ids.
	odd  []string          // Ids that arrived with different bodies.
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{told: map[string]string{}}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // The gateway was killed while sending.
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		id := r.Header.Get("webhook-id")
		if before, again := h.told[id]; again && before != string(body) {
			h.odd = append(h.odd, id)
		}
		h.told[id] = string(body)
	}))
	t.Cleanup(h.Close)
	return h
}

// A gateway is killed a hundred times with -9 in the middle of a stream: its reader gets every event exactly once, and a webhook
// gets every end at least once, always under the same id.
func TestNoEventIsLostOrDoubledAcrossAHundredDeathsOfTheGateway(t *testing.T) {
	const kills = 100
	s := bare(t, "")
	h := newHook(t)
	s.write("webhooks.yaml", fmt.Sprintf("version: 1\nwebhooks: [{name: ops, url: '%s', secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw], allow_addresses: [127.0.0.1]}]\n", h.URL))
	s.more = []string{"JOBGRAPH_START_TOKEN=" + gatewayToken, "JOBGRAPH_WEBHOOKS=" + filepath.Join(s.dir, "webhooks.yaml")}
	g := s.add(gateway)
	s.ready()
	until(t, "the webhook has its place in the log", patience, func() bool {
		_, err := s.bus.Bus().Queues().Info(t.Context(), "JOBS", "webhook-ops")
		return err == nil
	})
	s.state(events.Event{Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{Goal: "g"}, Rules: events.Rules{Version: events.RulesVersion}}})

	s.cli("doctor").wants(t, 1, "gateways  127.0.0.1:"+s.ports[g]) // The other services are not running.
	reader := &sseReader{url: "http://127.0.0.1:" + s.ports[g] + "/api/v1/jobs/j/events?until=end", news: make(chan struct{}, 1)}
	var running sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	running.Go(func() { reader.run(ctx) }) // Ends with the end of the job.
	killed := make(chan struct{})
	ends := make(chan []string, 1)
	running.Go(func() { // Ends when all kills are done.
		var ids []string
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for n := 1; ; n++ {
			select {
			case <-killed:
				s.state(events.Event{Kind: events.KindJobFinished, Job: "j", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}})
				ends <- ids
				return
			case <-tick.C:
			}
			s.state(events.Event{Kind: events.KindSubJobProgressed, Job: "j", SubJob: "a", Run: n, Data: &events.SubJobProgressed{Message: "step"}})
			if n%50 == 0 {
				job := fmt.Sprintf("e%d", n)
				seq := s.state(events.Event{Kind: events.KindJobStopped, Job: job, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}}})
				ids = append(ids, fmt.Sprintf("%s-%d", job, seq))
			}
		}
	})
	chance := rand.New(rand.NewPCG(16, 100))
	for range kills {
		select {
		case <-reader.news: // The reader has resumed the stream after the last kill.
		case <-ctx.Done():
			t.Fatal("the reader gets nothing any more")
		}
		<-time.After(time.Duration(chance.IntN(60)) * time.Millisecond)
		g.kill()
		select { // Events before the kill say nothing about the next stream.
		case <-reader.news:
		default:
		}
		g.start()
	}
	close(killed)
	ids := <-ends
	running.Wait()

	var want []uint64
	for e, err := range s.bus.Bus().Log().EventsOf(t.Context(), "j", 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	if !slices.Equal(reader.got, want) {
		t.Errorf("%d events were read, the log has %d", len(reader.got), len(want))
	}
	if len(ids) < 10 {
		t.Errorf("only %d jobs ended meanwhile", len(ids))
	}
	until(t, "the webhook knows of all ends", 2*patience, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return !slices.ContainsFunc(ids, func(id string) bool { return h.told[id] == "" })
	})
	g.kill()
	s.state(events.Event{Kind: events.KindJobStopped, Job: "untold", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Stopped}}})
	until(t, "doctor misses the gateway", patience, func() bool {
		return strings.Contains(s.cli("doctor").out, "webhook ops: no gateway serves it; 1 events wait")
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.odd) > 0 {
		t.Errorf("ids with different contents: %v", h.odd)
	}
}
