package meter_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
)

// series returns our metrics that exist, with their labels.
func series(t *testing.T, m *host.Metrics) (list []string) {
	t.Helper()
	families := musttest.Get(m.Gatherer().Gather())(t)
	for _, f := range families {
		for _, s := range f.GetMetric() {
			text := f.GetName()
			for _, l := range s.GetLabel() {
				text += " " + l.GetName() + "=" + l.GetValue()
			}
			list = append(list, text)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool {
		return !strings.HasPrefix(s, "jobgraph_") || strings.HasPrefix(s, "jobgraph_build")
	})
}

func TestASeriesExistsFromItsFirstUseOn(t *testing.T) {
	families := host.NewMetrics(host.Build{})
	m := meter.New(families)
	never, once := m.Expert("never"), m.Expert("once")
	if got := series(t, families); len(got) > 0 {
		t.Errorf("before anything happened: %q", got)
	}
	once.Waited(time.Second)
	once.Began()
	once.Ended()
	once.Reported(events.Success, time.Second)
	m.Published(events.KindSubJobReported)
	want := []string{
		"jobgraph_events_published_total kind=subjob.reported",
		"jobgraph_subjob_duration_seconds expert=once outcome=SUCCESS",
		"jobgraph_subjob_queue_wait_seconds expert=once",
		"jobgraph_subjobs_inflight expert=once",
		"jobgraph_subjobs_total expert=once outcome=SUCCESS",
	}
	musttest.Equal(t, want, series(t, families))
	never.Reported("something else", 0)
	if got := series(t, families); !slices.Contains(got, "jobgraph_subjobs_total expert=never outcome=WAITING") {
		t.Errorf("what is no outcome waits: %q", got)
	}
}
