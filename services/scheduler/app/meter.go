package app

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// meter feeds the metrics of the scheduler.
type meter struct {
	families map[loop.Family]*prometheus.CounterVec
	requests *prometheus.CounterVec
	runs     *prometheus.CounterVec
	waiting  *prometheus.GaugeVec
	moving   *prometheus.GaugeVec
	health   *host.Health
	noted    time.Time // When the health note about waiting requests was last set; zero when it was cleared.
}

func newMeter(m *host.Metrics, health *host.Health) *meter {
	return &meter{
		health:  health,
		waiting: m.Gauge("jobgraph_scheduler_requests_waiting", "Requests that this scheduler holds until there is room for their jobs."),
		moving:  m.Gauge("jobgraph_scheduler_jobs_in_motion", "Jobs with news that no save covers yet, while requests wait for them."),
		families: map[loop.Family]*prometheus.CounterVec{
			loop.Published:   m.Counter("jobgraph_events_published_total", "Events published.", "kind"),
			loop.Ended:       m.Counter("jobgraph_jobs_total", "Jobs admitted (CREATED) and ended.", "state"),
			loop.Replanned:   m.Counter("jobgraph_replans_total", "Changes of a graph after its first plan.", "reason"),
			loop.Ignored:     m.Counter("jobgraph_scheduler_events_ignored_total", "Events that were not legal when they came.", "kind"),
			loop.Duplicates:  m.Counter("jobgraph_scheduler_events_duplicate_total", "Events that had been applied before.", "kind"),
			loop.Orphans:     m.Counter("jobgraph_scheduler_events_orphaned_total", "Events of jobs that do not exist."),
			loop.Malformed:   m.Counter("jobgraph_scheduler_messages_malformed_total", "Messages in the log that are no events."),
			loop.Quarantined: m.Counter("jobgraph_scheduler_jobs_quarantined_total", "Jobs left alone until something is repaired.", "code"),
			loop.Saves:       m.Counter("jobgraph_scheduler_saves_total", "Saves of states by result.", "result"),
			loop.Lined:       m.Counter("jobgraph_scheduler_jobs_lined_total", "How often a job with more work than its pool had room for went into line.", "pool"),
			loop.Reloads:     m.Counter("jobgraph_scheduler_loads_total", "States loaded from the store."),
		},
		requests: m.Counter("jobgraph_scheduler_requests_total", "Queued job requests by what became of them.", "result"),
		runs:     m.Counter("jobgraph_schedule_runs_total", "Runs of schedules: started, refused, and by how their jobs ended.", "result"),
	}
}

// Count adds one to a family. Kinds of events that this release does not know share one label.
func (m *meter) Count(f loop.Family, label string) {
	switch f {
	case loop.Orphans, loop.Malformed, loop.Reloads:
		m.families[f].WithLabelValues().Inc()
		return
	case loop.Ignored, loop.Duplicates:
		if _, known := events.Define(events.Kind(label)); !known {
			label = "unknown"
		}
	}
	m.families[f].WithLabelValues(label).Inc()
}

// CountRequest counts a queued request.
func (m *meter) CountRequest(result string) { m.requests.WithLabelValues(result).Inc() }

// CountRun counts the outcome of a run of a schedule.
func (m *meter) CountRun(result string) { m.runs.WithLabelValues(result).Inc() }

// Admitted counts a job that was admitted.
func (m *meter) Admitted() {
	m.families[loop.Ended].WithLabelValues(string(events.Created)).Inc()
	m.families[loop.Published].WithLabelValues(string(events.KindJobRequested)).Inc()
}

// Closed updates /readyz when the admission of jobs is closed, with the reason, or opens again.
func (m *meter) Closed(reason string) {
	const note = "admission"
	if reason == "" {
		m.health.Unnote(note)
		return
	}
	m.health.Note(note, "no job is admitted now: "+reason)
}

// noteEvery is how often the text of a note is rewritten.
const noteEvery = time.Second

// Waiting updates metrics and /readyz about waiting requests. It belongs to one goroutine.
func (m *meter) Waiting(held, inMotion int) {
	m.waiting.WithLabelValues().Set(float64(held))
	m.moving.WithLabelValues().Set(float64(inMotion))
	switch {
	case held == 0 && !m.noted.IsZero():
		m.noted = time.Time{}
		m.health.Unnote("intake")
	case held > 0 && time.Since(m.noted) >= noteEvery:
		m.noted = time.Now()
		m.health.Note("intake", fmt.Sprintf("%d requests wait for their admission, %d jobs are in motion (--in-motion)", held, inMotion))
	}
}
