package loop

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// malformed ends unreadable work. If its subject names a run, it publishes a report, so that the job continues. Anything else
// becomes a dead letter.
func (l *Loop) malformed(work context.Context, o *task.Order, d *queue.Delivery, why error) {
	l.Meter.Diverted("malformed")
	l.Logger.Warn("malformed work message", "subject", d.Subject, "error", why)
	if o == nil {
		l.settled(d, d.Receipt.Term(l.Secrets.Redactor().Text("malformed work message: "+why.Error())))
		return
	}
	r := &run{Order: o, loop: l, id: o.ID(), delivery: d, base: work, ctx: work, started: time.Now(), payloads: payloads{l, o.Job}}
	r.effects.run = r
	e := task.Failure(events.CodeMalformed, "the work message cannot be read", why.Error(), "see who publishes on "+d.Subject)
	e.Sign(l.Owner, r.started.UTC(), r.started)
	r.publish(e)
}
