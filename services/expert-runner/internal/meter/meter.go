package meter

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Meter is the runner's metrics. All methods may be called by any goroutine. A series exists from its first use on: most experts
// end in only a few ways, and many are never called.
type Meter struct {
	published *prometheus.CounterVec
	kinds     map[events.Kind]func() prometheus.Counter
	diverted  *prometheus.CounterVec
	runs      families

	mu      sync.Mutex // Guards experts.
	experts map[string]*Expert
}

// families are the metrics with a series for each expert.
type families struct {
	total            *prometheus.CounterVec
	duration, waited *prometheus.HistogramVec
	inflight         *prometheus.GaugeVec
}

// Expert is the metrics of one expert. Each of its functions makes its series when it is first called.
type Expert struct {
	waited   func() prometheus.Observer
	inflight func() prometheus.Gauge
	outcomes map[events.Outcome]func() outcome
}

type outcome struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

// parked labels runs that ended to wait for a person or a time, in addition to the outcomes.
const parked = "WAITING"

// Families declares metrics; a family declared twice is one.
type Families interface {
	Counter(name, help string, labels ...string) *prometheus.CounterVec
	Gauge(name, help string, labels ...string) *prometheus.GaugeVec
	Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec
}

// New declares the families.
func New(m Families) *Meter {
	total := m.Counter("jobgraph_subjobs_total", "Runs of SubJobs that ended, by outcome.", "expert", "outcome")
	duration := m.Histogram("jobgraph_subjob_duration_seconds", "How long a run of a SubJob took.", nil, "expert", "outcome")
	waited := m.Histogram("jobgraph_subjob_queue_wait_seconds", "How long work waited for a runner.", nil, "expert")
	inflight := m.Gauge("jobgraph_subjobs_inflight", "Runs that are being executed.", "expert")
	meter := &Meter{
		published: m.Counter("jobgraph_events_published_total", "Events published.", "kind"),
		diverted: m.Counter("jobgraph_runner_diverted_total",
			"Work that was not simply executed and reported: malformed, unknown_expert, not_wanted, replayed, taken_over, abandoned.", "reason"),
		kinds: map[events.Kind]func() prometheus.Counter{}, experts: map[string]*Expert{},
	}
	for _, kind := range []events.Kind{events.KindSubJobReported, events.KindSubJobStarted, events.KindSubJobProgressed, events.KindInputRequested} {
		meter.kinds[kind] = sync.OnceValue(func() prometheus.Counter { return meter.published.WithLabelValues(string(kind)) })
	}
	meter.runs = families{total: total, duration: duration, waited: waited, inflight: inflight}
	return meter
}

// Expert returns the metrics of an expert, which exist from the first call on.
func (m *Meter) Expert(id string) *Expert {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := m.experts[id]
	if x == nil {
		x = m.runs.line(id)
		m.experts[id] = x
	}
	return x
}

func (f *families) line(id string) *Expert {
	x := &Expert{
		waited:   sync.OnceValue(func() prometheus.Observer { return f.waited.WithLabelValues(id) }),
		inflight: sync.OnceValue(func() prometheus.Gauge { return f.inflight.WithLabelValues(id) }),
		outcomes: map[events.Outcome]func() outcome{},
	}
	for _, o := range []events.Outcome{events.Success, events.ExecutionError, events.InputDataError, events.TooComplicated, parked} {
		x.outcomes[o] = sync.OnceValue(func() outcome {
			return outcome{f.total.WithLabelValues(id, string(o)), f.duration.WithLabelValues(id, string(o))}
		})
	}
	return x
}

// Published counts a published event, by its kind.
func (m *Meter) Published(kind events.Kind) {
	if c := m.kinds[kind]; c != nil {
		c().Inc()
		return
	}
	m.published.WithLabelValues(string(kind)).Inc()
}

// Diverted counts work that took another way than execute and report.
func (m *Meter) Diverted(reason string) { m.diverted.WithLabelValues(reason).Inc() }

// Waited is the time from publishing the work to taking it.
func (x *Expert) Waited(d time.Duration) { x.waited().Observe(max(0, d.Seconds())) }

// Began counts a run that is being executed, until Ended.
func (x *Expert) Began() { x.inflight().Inc() }

// Ended must be called once for each call of Began.
func (x *Expert) Ended() { x.inflight().Dec() }

// Reported counts a run that ended; anything but an outcome means that it waits.
func (x *Expert) Reported(o events.Outcome, took time.Duration) {
	series, known := x.outcomes[o]
	if !known {
		series = x.outcomes[parked]
	}
	line := series()
	line.total.Inc()
	line.duration.Observe(took.Seconds())
}
