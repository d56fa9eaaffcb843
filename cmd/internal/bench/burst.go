package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/cmd/internal/bench/baseline"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// steadyJobs is how many jobs run at once to measure the pace that a burst is compared with.
	steadyJobs = 200
	// leastPace is the fraction of that pace to keep while the whole burst is running.
	leastPace = 0.8
	// mostLate limits the time of a job submitted after the burst, in milliseconds, at the 99th percentile.
	mostLate = 3000
	// mostRepeats limits the redelivered events, in percent.
	mostRepeats = 1
	// mostBurstMemory limits the memory of one process for everything, in MB.
	mostBurstMemory = 600
	// probeEvery is the interval of jobs of one SubJob submitted after the burst.
	probeEvery = time.Second
	// stalled is how long no job may end before the burst is given up.
	stalled = 3 * time.Minute
)

// bursts submits many jobs at once, and after them a job of one SubJob each second: alternately without a user, like those
// of the burst, and with a user of its own. It does so with twice as many jobs of one SubJob as its size, and with as many
// of ten, which it compares with the same jobs submitted a few at a time. Each runs on a fresh store, in separate
// processes.
func bursts(ctx context.Context, self []string, p probe) (list []Measure, err error) {
	took := map[string]Measure{}
	for _, act := range []string{actFew, actSmall, actLarge} {
		p.Act = act
		measures, err := inquire(ctx, self, p)
		if err != nil {
			return list, err
		}
		list, took[act] = append(list, measures...), measures[0]
	}
	return append(list, atLeast("pace of the burst, of the pace with few in motion", "times", took[actLarge].Value/took[actFew].Value, leastPace)), nil
}

// The acts of the workload burst.
const (
	actFew   = "few"   // Jobs of ten SubJobs, a few at a time.
	actSmall = "small" // Jobs of one SubJob, all at once.
	actLarge = "large" // Jobs of ten SubJobs, all at once.
)

// burst runs one act. The first measure is its pace.
func (p probe) burst(ctx context.Context, self []string) (list []Measure, err error) {
	err = p.on(ctx, scene{side: SidePure, self: self}, func(ctx context.Context, s *stage, d *oursDriver) error {
		if err := d.run(ctx, "warm", []baseline.Graph{{nil}}); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		w := &burstWatch{oursDriver: d, begun: map[string]time.Time{}}
		name := fmt.Sprintf("%d jobs of %d SubJobs", p.Size, dagNodes)
		switch p.Act {
		case actFew:
			name += fmt.Sprintf(", %d in motion", steadyJobs)
			pace, err := w.steady(ctx, p.Size)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			list = append(list, value(name+": pace", "jobs/s", pace))
		case actSmall, actLarge:
			graphs := dags(p.Size)
			if p.Act == actSmall {
				name, graphs = fmt.Sprintf("%d jobs of one SubJob", 2*p.Size), slices.Repeat([]baseline.Graph{{nil}}, 2*p.Size)
			}
			st, err := w.storm(ctx, graphs)
			if err != nil {
				return fmt.Errorf("%s at once: %w", name, err)
			}
			name += " at once"
			list = append(list, st.report(name)...)
		default:
			return fmt.Errorf("act %q: use %s, %s or %s", p.Act, actFew, actSmall, actLarge)
		}
		u, err := s.usage()
		if err != nil {
			return err
		}
		memory := value(name+": peak memory", "MB", float64(u.Peak)/1e6)
		if p.Under.Mode == ModeEmbedded {
			memory = limited(memory.Name, memory.Unit, memory.Value, mostBurstMemory)
		}
		list = append(list, memory)
		return nil
	})
	return list, err
}

// burstWatch submits jobs and reads their ends from the log.
type burstWatch struct {
	*oursDriver
	begun map[string]time.Time // When the running probes were submitted, by job.
}

// storm holds the results of one burst.
type storm struct {
	pace      float64         // Jobs per second, from the first request to the last end.
	submitted time.Duration   // The time until the last request was stored.
	quiet     time.Duration   // The longest time during which no job ended.
	late      []time.Duration // The times from request to end of the jobs submitted later without a user.
	other     []time.Duration // The same for the jobs of another user.
	events    uint64          // The number of events of the burst.
	repeats   uint64          // How many of these were delivered again.
}

func (s *storm) report(name string) []Measure {
	slices.Sort(s.late)
	slices.Sort(s.other)
	return []Measure{
		value(name+": pace", "jobs/s", s.pace),
		value(name+": submitted in", "s", s.submitted.Seconds()),
		value(name+": longest time without an end", "s", s.quiet.Seconds()),
		value(name+": a job behind it, p50", "ms", millis(quantile(s.late, 0.5))),
		limited(name+": a job behind it, p99", "ms", millis(quantile(s.late, 0.99)), mostLate),
		limited(name+": one of another user, p99", "ms", millis(quantile(s.other, 0.99)), mostLate),
		limited(name+": events delivered again", "%", 100*float64(s.repeats)/float64(max(1, s.events)), mostRepeats),
	}
}

// ended reads the ends of jobs, in order, from those stored from now on.
func (w *burstWatch) ended(ctx context.Context) (jetstream.MessagesContext, error) {
	cons, err := w.js.OrderedConsumer(ctx, w.bus.Names().Log, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverNewPolicy,
		FilterSubjects: []string{
			w.ofEveryJob(events.KindJobFinished, ""), w.ofEveryJob(events.KindJobFailed, ""), w.ofEveryJob(events.KindJobStopped, ""),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read the ends: %w", err)
	}
	return cons.Messages(jetstream.PullMaxMessages(readAhead), jetstream.PullExpiry(pullExpiry), jetstream.PullHeartbeat(pullBeat))
}

// next returns the next job that ended and when its end was stored. It is an error if the job did not finish, or if none
// ends for too long.
func (w *burstWatch) next(ctx context.Context, it jetstream.MessagesContext) (job string, at time.Time, err error) {
	wait, cancel := context.WithTimeout(ctx, stalled)
	defer cancel()
	m, err := it.Next(jetstream.NextContext(wait))
	if err != nil {
		if wait.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no job has ended for %s", stalled)
		}
		return "", at, err
	}
	place, ok := w.bus.Names().Parse(m.Subject())
	if !ok || place.Kind != events.KindJobFinished {
		return "", at, fmt.Errorf("%s: %.500s", m.Subject(), m.Data())
	}
	meta, err := m.Metadata()
	if err != nil {
		return "", at, err
	}
	return place.Job, meta.Timestamp, nil
}

// steady keeps a few jobs running until a number of them has ended, and returns how many ended per second.
func (w *burstWatch) steady(ctx context.Context, total int) (float64, error) {
	it, err := w.ended(ctx)
	if err != nil {
		return 0, err
	}
	defer it.Stop()
	graphs := dags(total)
	begin := time.Now()
	first := min(steadyJobs, total)
	if err := w.submit(ctx, "steady", graphs[:first]); err != nil {
		return 0, err
	}
	for ended := range total {
		if _, _, err := w.next(ctx, it); err != nil {
			return 0, fmt.Errorf("behind %d ends: %w", ended, err)
		}
		if n := first + ended; n < total {
			m, err := w.request(ctx, "steady-"+strconv.Itoa(n), graphs[n])
			if err != nil {
				return 0, err
			}
			w.bus.PublishAsync(m, bus.Expect{}) // If it is lost, its job never ends, which next reports.
		}
	}
	return float64(total) / time.Since(begin).Seconds(), w.settled(ctx)
}

// storm submits the graphs at once, and probes after them until all have ended.
func (w *burstWatch) storm(ctx context.Context, graphs []baseline.Graph) (s storm, err error) {
	const word = "burst"
	it, err := w.ended(ctx)
	if err != nil {
		return s, err
	}
	defer it.Stop()
	before, delivered, err := w.deliveries(ctx)
	if err != nil {
		return s, err
	}
	begin := time.Now()
	if err := w.submit(ctx, word, graphs); err != nil {
		return s, err
	}
	s.submitted = time.Since(begin)
	probing, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan sentProbe, 1)
	go w.probe(probing, word, sent)
	last := begin
	for left := len(graphs); left > 0; {
		job, at, err := w.next(ctx, it)
		if err != nil {
			return s, fmt.Errorf("%d of %d have not ended: %w", left, len(graphs), err)
		}
		w.collectProbes(sent)
		s.quiet, last = max(s.quiet, at.Sub(last)), at
		if strings.HasPrefix(job, word+"-") {
			left--
			continue
		}
		s.probed(job, at, w.begun)
	}
	s.pace = float64(len(graphs)) / last.Sub(begin).Seconds()
	stop()
	for p := range sent { // The prober closes it.
		w.begun[p.job] = p.at
	}
	for len(w.begun) > 0 {
		job, at, err := w.next(ctx, it)
		if err != nil {
			return s, fmt.Errorf("%d jobs behind the burst have not ended: %w", len(w.begun), err)
		}
		s.probed(job, at, w.begun)
	}
	if err := w.settled(ctx); err != nil {
		return s, err
	}
	after, again, err := w.deliveries(ctx)
	s.events, s.repeats = after-before, again-delivered-(after-before)
	return s, err
}

// probed records the time of a probe, if the job is one.
func (s *storm) probed(job string, at time.Time, begun map[string]time.Time) {
	from, ours := begun[job]
	if !ours {
		return
	}
	delete(begun, job)
	if strings.Contains(job, "-other-") {
		s.other = append(s.other, at.Sub(from))
	} else {
		s.late = append(s.late, at.Sub(from))
	}
}

// sentProbe is a probe and its time of submission.
type sentProbe struct {
	job string
	at  time.Time
}

func (w *burstWatch) collectProbes(sent <-chan sentProbe) {
	for {
		select {
		case p := <-sent:
			w.begun[p.job] = p.at
		default:
			return
		}
	}
}

// probe submits a job of each kind in turn until ctx ends, then closes sent. A probe is announced on sent before it is
// submitted.
func (w *burstWatch) probe(ctx context.Context, word string, sent chan<- sentProbe) {
	defer close(sent)
	tick := time.NewTicker(probeEvery / 2)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		kind, user := "behind", ""
		if i%2 == 1 {
			kind, user = "other", "other-user"
		}
		job := fmt.Sprintf("probe-%s-%s-%d", word, kind, i)
		m, err := w.requestOf(ctx, job, user, baseline.Graph{nil})
		if err != nil {
			return
		}
		select {
		case sent <- sentProbe{job, time.Now()}:
		case <-ctx.Done():
			return
		}
		w.bus.PublishAsync(m, bus.Expect{})
	}
}

// deliveries counts the events in the log, and the deliveries by the schedulers' consumers.
func (w *burstWatch) deliveries(ctx context.Context) (stored, delivered uint64, err error) {
	s, err := w.js.Stream(ctx, w.bus.Names().Log)
	if err != nil {
		return 0, 0, fmt.Errorf("read the log: %w", err)
	}
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Config.Durable != "" && strings.HasPrefix(c.Name, "scheduler") {
			delivered += c.Delivered.Consumer
		}
	}
	if err := list.Err(); err != nil {
		return 0, 0, fmt.Errorf("read the log's consumers: %w", err)
	}
	if delivered == 0 {
		return 0, 0, errors.New("the log has no consumer of a scheduler")
	}
	return s.CachedInfo().State.LastSeq, delivered, nil
}
