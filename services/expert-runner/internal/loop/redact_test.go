package loop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// A successor finds in the journal exactly what an expert has used, and no text of its ending is cut within a secret.
func TestAnExpertHasItsResultsAsTheJournalHasThem(t *testing.T) {
	const secret = "s3cret-of-an-expert"
	synctest.Test(t, func(t *testing.T) {
		w, got := newPorts(0), ""
		l := w.loop(jobrun.Effect{}, func(ctx context.Context, x *expert.Task) task.Ending {
			raw, err := x.Hand.Do(ctx, expert.Effect{Key: "ask", Name: "http"}, func(context.Context) (json.RawMessage, error) {
				return json.RawMessage(`{"given":"` + secret + `"}`), nil
			})
			if err != nil {
				t.Error(err)
			}
			got = string(raw)
			return task.Failure(events.CodeExecution, strings.Repeat(secret, 10_000), "x"+strings.Repeat(secret, 10_000), secret)
		})
		l.Secrets = redact.NewSet(secret)
		w.give(t.Context(), t, l, 1)
		if got != `{"given":"********"}` {
			t.Errorf("the expert goes on with %s", got)
		}
		found := false
		for _, e := range w.Entries {
			text := string(e.Data) + e.Reason
			if strings.Contains(text, "s3c") || strings.Contains(text, "expert-") {
				t.Errorf("%s holds a part of the secret: %.200s", e.Type, text)
			}
			found = found || e.Type == events.JournalResult && string(e.Data) == got
		}
		if !found {
			t.Errorf("the journal has another result: %+v", w.Entries)
		}
	})
}

// termed is a receipt that records why its delivery was given up.
type termed struct {
	queue.Receipt
	reason string
}

func (s *termed) Term(reason string) error {
	s.reason = reason
	return nil
}

func TestTheReasonOfATermShowsNoSecret(t *testing.T) {
	l, s := newPorts(0).loop(jobrun.Effect{}, nil), &termed{}
	l.Secrets = redact.NewSet("s3cret-of-an-expert")
	l.malformed(t.Context(), nil, &queue.Delivery{Receipt: s}, errors.New("it says s3cret-of-an-expert"))
	if s.reason != "malformed work message: it says ********" {
		t.Errorf("%q", s.reason)
	}
}
