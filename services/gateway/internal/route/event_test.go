package route_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

type routeSettings = route.Settings

const shortBeat = 20 * time.Millisecond

var (
	requested = events.Event{Kind: events.KindJobRequested, Data: &events.JobRequested{Request: events.Request{Goal: "g"}}}
	finished  = events.Event{Kind: events.KindJobFinished, Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}}
	recovered = events.Event{Kind: events.KindJobRecovered, Data: &events.JobMoved{Status: events.Running}}
)

func progressed(n int) events.Event {
	return events.Event{Kind: events.KindSubJobProgressed, SubJob: "a", Run: 1, ID: fmt.Sprint(n), Data: &events.SubJobProgressed{Done: n}}
}

// begun sends a request and returns the body of its answer, which is closed with the test.
func (s *site) begun(r *http.Request) io.Reader {
	s.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = answer.Body.Close() }) // The body has been read.
	if answer.StatusCode != http.StatusOK {
		s.Fatal(answer.Status)
	}
	return answer.Body
}

// streamed returns a request for a stream.
func (s *site) streamed(path, after string) *http.Request {
	r := s.request(verb.Viewer, http.MethodGet, path, "")
	r.Header.Set("Accept", "text/event-stream")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	return r
}

// ids lists the ids in a stream.
func ids(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			list = append(list, strings.TrimSpace(id))
		}
	}
	return list
}

// proves V30
func TestAStreamOfAnEndedJobEndsAndIsResumed(t *testing.T) {
	s := open(t, nil, nil)
	var want []string
	for _, e := range []events.Event{requested, finished, recovered, progressed(1), finished} {
		want = append(want, fmt.Sprint(s.state("j", e)))
	}
	const path = "/api/v1/jobs/j/events?until=end"
	answer, body := s.do(s.streamed(path, ""))
	if got := ids(body); !slices.Equal(got, want) || !strings.HasSuffix(body, "event: end\ndata: {}\n\n") || answer.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("got %v of %v in %s", got, want, body)
	}
	if _, body := s.do(s.streamed(path, want[2])); !slices.Equal(ids(body), want[3:]) {
		t.Errorf("resumed: %s", body)
	}
	if answer, body := s.do(s.streamed(path, want[4])); answer.StatusCode != http.StatusNoContent || body != "" {
		t.Errorf("behind the end: %d %s", answer.StatusCode, body)
	}
	if _, body := s.do(s.streamed(path, "9999")); !strings.Contains(body, "event: gap\ndata: {\"after\":9999,") || !slices.Equal(ids(body), want) {
		t.Errorf("behind the log: %s", body)
	}
	s.refused(s.streamed(path, "x"), http.StatusBadRequest, events.CodeInvalid)
	s.refused(s.streamed("/api/v1/jobs/none/events", ""), http.StatusNotFound, events.CodeNotFound)
	_, page := s.ask(verb.Viewer, http.MethodGet, "/api/v1/jobs/j/events?limit=2&after="+want[0], "")
	if !strings.Contains(page, `"seq":`+want[1]) || !strings.Contains(page, `"seq":`+want[2]) || strings.Contains(page, `"seq":`+want[3]) || !strings.Contains(page, `"more":true`) {
		t.Errorf("page: %s", page)
	}
}

// The scheduler writes to the log after the end of a job: a reader who saw the end and comes back waits for nothing.
func TestAReaderWhoSawTheEndGetsWhatWasWrittenAfterIt(t *testing.T) {
	s := open(t, nil, nil)
	s.state("j", requested)
	end := s.state("j", finished)
	last := s.state("j", progressed(1))
	ctx, cancel := context.WithTimeout(t.Context(), musttest.Patience)
	defer cancel()
	const path = "/api/v1/jobs/j/events?until=end"
	_, body := s.do(s.streamed(path, fmt.Sprint(end)).WithContext(ctx))
	if got := ids(body); !slices.Equal(got, []string{fmt.Sprint(last)}) || !strings.HasSuffix(body, "event: end\ndata: {}\n\n") {
		t.Errorf("after the end: %s", body)
	}
	if answer, _ := s.do(s.streamed(path, fmt.Sprint(last)).WithContext(ctx)); answer.StatusCode != http.StatusNoContent {
		t.Errorf("after that: %d", answer.StatusCode)
	}
}

func TestAQuietStreamShowsThatItLivesAndEndsWithTheGateway(t *testing.T) {
	s := open(t, nil, func(g *routeSettings) { g.Beat, g.Streams = shortBeat, 1 })
	s.state("j", requested)
	answer, err := http.DefaultClient.Do(s.streamed("/api/v1/jobs/j/events", ""))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(answer.Body)
	alive := false
	for !alive && lines.Scan() {
		alive = lines.Text() == ": alive"
	}
	if !alive {
		t.Error("no sign of life")
	}
	s.refused(s.streamed("/api/v1/jobs/j/events", ""), http.StatusTooManyRequests, events.CodeTooMany)
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
}

// A reader that resumes after each of 100 kills of the gateway gets every event once.
//
// proves V30
// proves F-weakness-issue-2468
func TestNoEventIsLostOrDoubledAcrossKills(t *testing.T) {
	s := open(t, nil, nil)
	const total, kills = 1500, 100
	s.state("j", requested)
	written := make(chan uint64, 1)
	go func() { // Ends when everything is written, which the reader waits for.
		for n := range total {
			s.state("j", progressed(n))
		}
		written <- s.state("j", finished)
	}()
	listener := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := listener.Addr().String()
	var got []uint64
	chance := rand.New(rand.NewPCG(7, 7))
	killed := 0
	for done := false; !done; {
		if listener == nil {
			listener = musttest.Get(net.Listen("tcp", addr))(t)
		}
		server := &http.Server{Handler: s.gateway, ReadHeaderTimeout: time.Second}
		served := make(chan struct{})
		go func(l net.Listener) { _ = server.Serve(l); close(served) }(listener) // Ends with Close.
		most := chance.IntN(total / kills)
		if killed >= kills {
			most = total
		}
		got, done = s.resume(addr, got, most)
		_ = server.Close() // All connections break in the middle of what they send.
		<-served
		listener, killed = nil, killed+1
	}
	end := <-written
	var want []uint64
	for e, err := range s.bus.Log().EventsOf(t.Context(), "j", 0) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e.Seq)
	}
	if !slices.Equal(got, want) || want[len(want)-1] != end || killed < kills {
		t.Errorf("after %d kills %d events of %d", killed, len(got), len(want))
	}
}

// resume continues to read until it has most further events or the stream is complete.
func (s *site) resume(addr string, got []uint64, most int) (all []uint64, done bool) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	r := s.streamed("/api/v1/jobs/j/events?until=end", "").WithContext(ctx)
	r.URL.Host = addr
	if len(got) > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(got[len(got)-1], 10))
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // The stream may break off in the middle.
	if answer.StatusCode == http.StatusNoContent {
		return got, true
	}
	lines := bufio.NewScanner(answer.Body)
	var seq uint64
	for count := 0; lines.Scan(); {
		line := lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			seq = musttest.Get(strconv.ParseUint(id, 10, 64))(s)
		}
		switch {
		case line == "event: end":
			return got, true
		case line == "" && seq > 0: // An event counts once it is complete.
			got, seq = append(got, seq), 0
			if count++; count > most {
				return got, false
			}
		}
	}
	return got, false
}

// A reader that takes nothing is disconnected; others continue.
func TestASlowReaderIsDropped(t *testing.T) {
	s := open(t, nil, func(g *routeSettings) { g.Write = time.Second })
	s.state("j", requested)
	conn := musttest.Get(net.Dial("tcp", strings.TrimPrefix(s.server.URL, "http://")))(t)
	defer func() { _ = conn.Close() }() // The server may have closed it.
	musttest.Do(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	musttest.Get(fmt.Fprintf(conn, "GET /api/v1/jobs/j/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", token(verb.Viewer)))(t)
	text := strings.Repeat("x", 50<<10)
	for n := range 200 { // More than the buffers of a connection hold.
		e := progressed(n)
		e.Data = &events.SubJobProgressed{Message: text}
		s.state("j", e)
	}
	end := s.state("j", finished)
	if _, body := s.do(s.streamed("/api/v1/jobs/j/events?until=end", "")); ids(body)[len(ids(body))-1] != fmt.Sprint(end) {
		t.Error("the other reader got no end")
	}
	deadline := time.Now().Add(musttest.Patience)
	for !strings.Contains(s.log.String(), "took nothing and was dropped") {
		if time.Now().After(deadline) {
			t.Fatal("the slow reader was not dropped")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// What happens after a token was removed does not reach its streams, also before their next sign of life.
func TestAStreamSaysNothingAfterItsTokenWasRemoved(t *testing.T) {
	s := open(t, nil, nil)
	s.state("j", requested)
	s.planned("k")
	for name, c := range map[string]struct {
		path string
		say  func()
	}{
		"events": {"/api/v1/jobs/j/events", func() {
			s.state("j", events.Event{Kind: events.KindSubJobProgressed, SubJob: "a", Run: 1, Data: &events.SubJobProgressed{Message: "secret"}})
		}},
		"live": {"/api/v1/jobs/k/live", func() {
			body := musttest.Get(item.Encode([]item.Item{{Type: item.Text, ID: "answer/1", SubJob: "a", Run: 1, Text: "secret"}}))(t)
			musttest.Do(t, s.bus.Items().Send("k", "a", "", body))
		}},
	} {
		s.write(verb.Viewer)
		musttest.Get(s.keeper.Refresh())(t)
		ctx, stop := context.WithTimeout(t.Context(), musttest.Patience)
		body := s.begun(s.streamed(c.path, "").WithContext(ctx))
		s.write(verb.Admin)
		musttest.Get(s.keeper.Refresh())(t)
		c.say()
		if text := string(musttest.Get(io.ReadAll(body))(t)); strings.Contains(text, "secret") || !strings.Contains(text, `"code":"unauthenticated"`) {
			t.Errorf("%s: %s", name, text)
		}
		stop()
	}
}
