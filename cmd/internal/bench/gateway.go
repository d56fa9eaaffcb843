package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
)

// Limits of the gateway: what it adds to a submission, how late an event reaches a reader (ms), and its memory at rest and with a
// thousand readers of one job (MB).
const (
	mostAddedMS    = 1
	mostLateMS     = 20
	mostIdleMB     = 40
	mostReadersMB  = 300
	gatewayReaders = 1000
	gatewayToken   = "a-token-of-the-bench"
	// watchedEvents is how many events readers get, watchedEvery the time between them.
	watchedEvents = 200
	watchedEvery  = 10 * time.Millisecond
	// serving limits the start of the gateway.
	serving = 20 * time.Second
)

// door runs the gateway as a part of a stage; it serves HTTP at an address.
func door(at string) part {
	return part{"gateway", func(ctx context.Context, a address) error {
		b, err := a.bus(ctx, "gateway")
		if err != nil {
			return err
		}
		defer b.Close()
		work := context.WithoutCancel(ctx)
		p := host.NewProcess(work, ctx, "gateway", host.Settings{Prefix: events.DefaultPrefix, HTTPAddr: at, DrainTimeout: drainTimeout}, a.log)
		server, err := host.Listen(at, p.Health, p.Metrics, p.Build)
		if err != nil {
			return err
		}
		p.Server = server
		served := make(chan error, 1)
		open, stop := context.WithCancel(work)
		go func() { served <- server.Run(open) }() // Ends with stop below, and is waited for.
		s := gateway.Default()
		s.StartToken, s.Rate = gatewayToken, 0
		err = gateway.Run(work, p, s, gateway.Deps{Bus: b})
		stop()
		return errors.Join(err, <-served, p.Close(work))
	}}
}

// gatewayWatch measures a gateway at an address.
type gatewayWatch struct {
	*oursDriver
	url    string
	client *http.Client
}

// gateway measures what the gateway adds to a submission, how late events reach readers, and its memory.
func (p probe) gateway(ctx context.Context, self []string) (list []Measure, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	at := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a port: %w", err)
	}
	err = p.on(ctx, scene{side: sideDoor, kit: kit{Gateway: at}, self: self}, func(ctx context.Context, s *stage, d *oursDriver) error {
		w := &gatewayWatch{oursDriver: d, url: "http://" + at, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, MaxConnsPerHost: 0}}}
		defer w.client.CloseIdleConnections()
		if err := d.run(ctx, "warm", []baseline.Graph{{nil}}); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		if err := w.await(ctx); err != nil {
			return err
		}
		idle, err := resident(s)
		if err != nil {
			return err
		}
		if list, err = w.submissions(ctx, p.Size); err != nil {
			return err
		}
		one, err := w.watch(ctx, "one", 1, nil)
		if err != nil {
			return err
		}
		held := 0.0
		many, err := w.watch(ctx, "many", min(gatewayReaders, p.Size), func() (err error) { held, err = resident(s); return err })
		if err != nil {
			return err
		}
		list = append(list,
			limited("an event at its only reader after the log, p99", "ms", millis(quantile(one, 0.99)), mostLateMS),
			value(fmt.Sprintf("an event at one of %d readers, p99", min(gatewayReaders, p.Size)), "ms", millis(quantile(many, 0.99))))
		if p.Under.Mode == ModeServices {
			list = append(list,
				limited("memory of the gateway at rest", "MB", idle, mostIdleMB),
				limited(fmt.Sprintf("memory with %d readers of one job", min(gatewayReaders, p.Size)), "MB", held, mostReadersMB))
		}
		return nil
	})
	return list, err
}

// resident returns the memory of the gateway's process in MB; 0 if it is this one.
func resident(s *stage) (float64, error) {
	k, ok := s.cast.(*company)
	if !ok {
		return 0, nil
	}
	u, err := k.of("gateway")
	return float64(u.Resident) / 1e6, err
}

// ask makes a request to the gateway.
func (w *gatewayWatch) ask(ctx context.Context, method, path string, body []byte, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+gatewayToken)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return w.client.Do(r)
}

// await waits until the gateway answers, and the scheduler takes submissions.
func (w *gatewayWatch) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serving)
	defer cancel()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for {
		answer, err := w.ask(ctx, http.MethodGet, "/api/v1/me", nil, "")
		if err == nil {
			_ = answer.Body.Close() // Only its status is needed.
			// Even a refusal of the empty request is an answer.
			if _, _, err = w.bus.Services().Request(ctx, w.bus.Names().API("submit"), nil); err == nil && answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the gateway or the scheduler does not answer: %w", errors.Join(ctx.Err(), err))
		}
	}
}

// submissions submits jobs one after another, alternately over NATS and over HTTP.
func (w *gatewayWatch) submissions(ctx context.Context, n int) ([]Measure, error) {
	var direct, over []time.Duration
	for i := range 2*n + 20 {
		m, err := w.request(ctx, "submit-"+strconv.Itoa(i), baseline.Graph{nil})
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if i%2 == 0 {
			err = w.byNATS(ctx, m.Body)
		} else {
			err = w.byHTTP(ctx, m.Body)
		}
		took := time.Since(begin)
		switch {
		case err != nil:
			return nil, fmt.Errorf("submit: %w", err)
		case i < 20: // The first ones open connections.
		case i%2 == 0:
			direct = append(direct, took)
		default:
			over = append(over, took)
		}
	}
	slices.Sort(direct)
	slices.Sort(over)
	return []Measure{
		value("submit over NATS, p50", "ms", millis(quantile(direct, 0.5))),
		value("submit through the gateway, p50", "ms", millis(quantile(over, 0.5))),
		limited("added by the gateway, p50", "ms", millis(quantile(over, 0.5)-quantile(direct, 0.5)), mostAddedMS),
	}, nil
}

func (w *gatewayWatch) byNATS(ctx context.Context, body []byte) error {
	_, fault, err := w.bus.Services().Request(ctx, w.bus.Names().API("submit"), body)
	if fault != nil {
		return fault
	}
	return err
}

func (w *gatewayWatch) byHTTP(ctx context.Context, body []byte) error {
	answer, err := w.ask(ctx, http.MethodPost, "/api/v1/jobs", body, "")
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // The body has been read.
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %.300s", answer.Status, text)
	}
	return err
}

// watch has readers follow a job whose events are stored at a steady pace, and returns how late each event was at each reader. full is
// called once all of them are reading.
func (w *gatewayWatch) watch(ctx context.Context, job string, readers int, full func() error) ([]time.Duration, error) {
	if err := w.state(ctx, events.Event{Kind: events.KindJobRequested, Job: job, Data: &events.JobRequested{Request: events.Request{Goal: "g"}, Rules: events.Rules{Version: events.RulesVersion}}}); err != nil {
		return nil, err
	}
	ctx, cancel := patience(ctx, readers*watchedEvents)
	defer cancel()
	begun, done := make(chan error, readers), make(chan []time.Duration, readers)
	var all sync.WaitGroup // Each goroutine ends with its stream, at the latest with ctx.
	for range readers {
		all.Go(func() { done <- w.read(ctx, job, begun) })
	}
	defer all.Wait()
	defer cancel()
	for range readers {
		if err := <-begun; err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
	}
	tick := time.NewTicker(watchedEvery)
	defer tick.Stop()
	for n := range watchedEvents {
		<-tick.C
		if err := w.state(ctx, events.Event{Kind: events.KindSubJobProgressed, Job: job, SubJob: "a", Run: n + 1, Data: &events.SubJobProgressed{Message: "step"}}); err != nil {
			return nil, err
		}
	}
	if full != nil {
		if err := full(); err != nil {
			return nil, err
		}
	}
	var late []time.Duration
	for range readers {
		list := <-done
		if len(list) != watchedEvents {
			return nil, fmt.Errorf("a reader got %d events of %d", len(list), watchedEvents)
		}
		late = append(late, list...)
	}
	slices.Sort(late)
	return late, nil
}

// state publishes a fact of a job.
func (w *gatewayWatch) state(ctx context.Context, e events.Event) error {
	e.Source = "bench"
	m, err := events.Encode(w.bus.Names(), e)
	if err == nil {
		_, err = w.bus.Publish(ctx, m, bus.Expect{})
	}
	return err
}

// read follows a job and returns how late each of its events came. begun gets a value with the first one.
func (w *gatewayWatch) read(ctx context.Context, job string, begun chan<- error) (late []time.Duration) {
	answer, err := w.ask(ctx, http.MethodGet, "/api/v1/jobs/"+job+"/events", nil, "text/event-stream")
	if err != nil {
		begun <- err
		return nil
	}
	defer func() { _ = answer.Body.Close() }() // The stream has no end.
	lines := bufio.NewScanner(answer.Body)
	first := true
	for len(late) < watchedEvents && lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		now := time.Now()
		if first {
			first = false
			begun <- nil
			continue
		}
		var e struct{ Time time.Time }
		if json.Unmarshal(data, &e) != nil {
			return nil
		}
		late = append(late, now.Sub(e.Time))
	}
	if first {
		begun <- errors.Join(errors.New("the stream ended before its first event"), lines.Err(), context.Cause(ctx))
	}
	return late
}
