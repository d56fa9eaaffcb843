package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// stored returns every item of a SubJob that the bus has stored.
func stored(t *testing.T, w *servicetest.Env, job, subjob string) (list []string) {
	t.Helper()
	synctest.Wait()
	for m, err := range w.Bus.Items().Of(t.Context(), job, subjob, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range m.Items {
			line := fmt.Sprintf("%d %s %s %d %q", i.Run, i.Type, i.ID, i.Offset, i.Text)
			if i.Done {
				line += " done"
			}
			list = append(list, line)
		}
	}
	return list
}

// speaks is an expert that shows text around a journaled effect.
func speaks(_ context.Context, t *app.Task) (events.SubJobReported, error) {
	t.Show(item.Item{Type: item.Text, ID: "answer/1", Text: "I begin"})
	_, err := t.Hand.Do(context.Background(), app.Effect{Key: "call", Name: "http", Safe: true}, func(context.Context) (json.RawMessage, error) {
		return json.RawMessage("1"), nil
	})
	if err != nil {
		return events.SubJobReported{}, err
	}
	t.Show(item.Item{Type: item.Text, ID: "answer/1", Offset: len("I begin"), Text: " and end"})
	return events.SubJobReported{Output: json.RawMessage("1")}, nil
}

// proves V-T20
func TestTheSeamOfARunWhoseRunnerDiedIsMarked(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		hook, crashed := crashAt("result")
		functions := []app.Function{function("x", false, speaks)}
		first := start(w, app.Settings{}, app.Deps{Owner: "one", Hook: hook, Functions: functions})
		o := work("x", "j1", "a", 1)
		state(w, o, true)
		w.Issue(o)
		<-crashed
		first.Kill()
		start(w, app.Settings{}, app.Deps{Owner: "two", Functions: functions})
		w.Report(o)
		w.Idle()
		want := []string{
			`1 text answer/1 0 "I begin"`,
			`1 seam seam/1 0 "run 1 broke off and goes on in another process" done`,
			`1 text answer/1 0 "I begin and end" done`,
		}
		got := stored(t, w, "j1", "a")
		// Merge consecutive additions to an item, since their number depends on when they are flushed.
		var out []string
		for _, line := range got {
			if line == `1 text answer/1 7 " and end" done` && len(out) > 0 {
				out[len(out)-1] = `1 text answer/1 0 "I begin and end" done`
				continue
			}
			out = append(out, line)
		}
		musttest.Equal(t, want, out)
	})
}

func TestARunThatTakesThePlaceOfAnotherOneSaysSo(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("x", false, speaks)}})
		for resumes, want := range []string{"run 1 ended; run 2 takes its place", "run 1 ended; run 2 goes on from there"} {
			o := work("x", fmt.Sprint("j", resumes), "a", 2)
			o.ResumeOf = resumes
			state(w, o, true)
			w.Issue(o)
			w.Report(o)
			w.Idle()
			if got := stored(t, w, o.Job, "a"); len(got) == 0 || got[0] != fmt.Sprintf("2 seam seam/1 0 %q done", want) {
				t.Errorf("%q", got)
			}
		}
	})
}
