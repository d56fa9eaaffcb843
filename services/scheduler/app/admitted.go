package app

import (
	"context"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// countingLog counts the jobs that this process admits.
type countingLog struct {
	*bus.Bus
	meter *meter
}

// Publish counts what was stored.
func (l countingLog) Publish(ctx context.Context, m events.Message, e bus.Expect) (uint64, error) {
	seq, err := l.Bus.Publish(ctx, m, e)
	if err == nil {
		l.meter.Admitted()
	}
	return seq, err
}

// microVersion fits a module's version to the form that micro services must state.
func microVersion(version string) string {
	version = strings.TrimPrefix(version, "v")
	if regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return version
	}
	return "0.0.0-dev"
}
