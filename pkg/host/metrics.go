package host

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics is one registry. Two services in one process share it: declaring a family twice returns the same family.
type Metrics struct {
	registry *prometheus.Registry
}

// NewMetrics returns a registry with the collectors of Go and of the process, and jobgraph_build_info.
func NewMetrics(build Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.Gauge("jobgraph_build_info", "What is running; the value is always 1.", "name", "version", "commit", "go").
		WithLabelValues(build.Name, build.Version, build.Commit, build.Go).Set(1)
	return m
}

// Registerer accepts collectors that Metrics has no method for.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Gatherer returns the source of all families for a scraper.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Handler serves the families in the exposition format that the scraper requests.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Counter declares a family of counters.
func (m *Metrics) Counter(name, help string, labels ...string) *prometheus.CounterVec {
	checkFamily(name, labels)
	return declare(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// Gauge declares a family of gauges.
func (m *Metrics) Gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	checkFamily(name, labels)
	return declare(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels))
}

// Histogram declares a family of histograms: classic with these buckets (nil means the default ones), and native for scrapers that
// support it.
func (m *Metrics) Histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	checkFamily(name, labels)
	if buckets == nil {
		buckets = prometheus.DefBuckets
	}
	return declare(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
	}, labels))
}

// checkFamily enforces two rules: our families have recognisable names, and no label grows with the number of jobs.
func checkFamily(name string, labels []string) {
	if !strings.HasPrefix(name, "jobgraph_") {
		panic(fmt.Sprintf("host: metric %q does not begin with jobgraph_", name))
	}
	for _, id := range []string{"job", "job_id", "subjob", "subjob_id", "run", "session", "thread", "user"} {
		if slices.Contains(labels, id) {
			panic(fmt.Sprintf("host: metric %q has label %q: ids are for logs and traces", name, id))
		}
	}
}

// declare registers a family or returns the registered one. The same name with other labels or of another kind is a bug and
// panics.
func declare[C prometheus.Collector](m *Metrics, family C) C {
	err := m.registry.Register(family)
	var twice prometheus.AlreadyRegisteredError
	if errors.As(err, &twice) {
		if existing, same := twice.ExistingCollector.(C); same {
			return existing
		}
	}
	if err != nil {
		panic(fmt.Sprintf("host: declare metric: %v", err))
	}
	return family
}
